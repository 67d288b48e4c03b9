(** Many independent answers: by group, and which values occur (docs/proven.md, section 8).

    Every group is answered by itself. One person more or less changes the law of one group, and the joint
    law of all answers is then as close as the laws of that one group. A replaced person changes two
    groups, so each gets half of the level. Which values occur (keys) is the same with one yes or no for
    each value: a value that t people have is kept with probability F^t(0), and no private mechanism
    keeps it more often. *)
Require Import Reals Lra Lia Psatz List Bool Arith.
Require Import DP.StepFunction DP.Raising DP.OneLevel.
Import ListNotations.
Open Scope R_scope.

Section Groups.
  Context {A : Type}.
  Variable ans : list A.
  (** the probability that the list of the groups' independent answers lies in [S] *)
  Fixpoint joint (laws : list (A -> R)) (S : list A -> bool) : R :=
    match laws with
    | [] => if S [] then 1 else 0
    | P :: rest => sum (fun a => P a * joint rest (fun o => S (a :: o))) ans
    end.
  Definition all_dist (laws : list (A -> R)) := forall P, In P laws -> dist P ans.

  Lemma joint_range laws : all_dist laws -> forall S, 0 <= joint laws S <= 1.
  Proof.
    induction laws as [|P laws IH]; intros H S; simpl; [destruct (S []); lra|].
    assert (D : dist P ans) by (apply H; simpl; auto). specialize (IH ltac:(intros Q HQ; apply H; simpl; auto)).
    destruct D as [D1 D2]. split.
    - apply sum_nonneg. intros a Ha. specialize (D1 a Ha). specialize (IH (fun o => S (a :: o))). nra.
    - rewrite <- D2. apply sum_le. intros a Ha. specialize (D1 a Ha). specialize (IH (fun o => S (a :: o))). nra.
  Qed.
  (** closeness of events is closeness of every expectation of a number between 0 and 1 *)
  Lemma weighted_close E d (P Q h : A -> R) : (forall S, pr P ans S <= E * pr Q ans S + d) ->
    (forall a, In a ans -> 0 <= h a <= 1) ->
    sum (fun a => P a * h a) ans <= E * sum (fun a => Q a * h a) ans + d.
  Proof.
    intros H Hh. apply closeness_by_positive_parts in H.
    assert (X : sum (fun a => P a * h a) ans - E * sum (fun a => Q a * h a) ans
                <= sum (fun a => Rmax 0 (P a - E * Q a)) ans); [|lra].
    clear H. induction ans as [|a l IH]; simpl; [lra|]. specialize (IH ltac:(intros; apply Hh; simpl; auto)).
    specialize (Hh a ltac:(simpl; auto)). assert ((P a - E * Q a) * h a <= Rmax 0 (P a - E * Q a)); [|lra].
    unfold Rmax. destruct (Rle_dec _ _); nra.
  Qed.
  Lemma sum_affine (c : R) d (f g P : A -> R) l : (forall a, In a l -> 0 <= P a) -> sum P l <= 1 -> 0 <= d ->
    (forall a, In a l -> f a <= c * g a + d) -> sum (fun a => P a * f a) l <= c * sum (fun a => P a * g a) l + d.
  Proof.
    intros HP H1 Hd H. apply Rle_trans with (c * sum (fun a => P a * g a) l + d * sum P l); [|nra].
    clear H1. induction l as [|a l IH]; simpl; [lra|].
    specialize (IH ltac:(intros; apply HP; simpl; auto) ltac:(intros; apply H; simpl; auto)).
    specialize (HP a ltac:(simpl; auto)). specialize (H a ltac:(simpl; auto)).
    assert (P a * f a <= P a * (c * g a + d)) by (apply Rmult_le_compat_l; auto). lra.
  Qed.

  Section OneGroup.
    Variables E d : R.
    Hypothesis HE : 1 <= E.
    Hypothesis Hd : 0 <= d.
    Lemma one_way before after P Q : all_dist (before ++ P :: after) -> all_dist (before ++ Q :: after) ->
      (forall S, pr P ans S <= E * pr Q ans S + d) ->
      forall S, joint (before ++ P :: after) S <= E * joint (before ++ Q :: after) S + d.
    Proof.
      induction before as [|B before IH]; intros HP HQ H S; simpl.
      - apply weighted_close; auto. intros a _. apply joint_range. intros R HR. apply HP. simpl. auto.
      - assert (D : dist B ans) by (apply HP; simpl; auto). destruct D as [D1 D2].
        apply sum_affine; auto; [lra|]. intros a Ha. apply IH; auto.
        + intros R HR. apply HP. simpl. auto.
        + intros R HR. apply HQ. simpl. auto.
    Qed.
    (** proven.md section 8, by group: the answers of all groups together are as close as those of the one
        group that a person enters or leaves. *)
    Theorem groups_private before after P Q : all_dist (before ++ P :: after) -> all_dist (before ++ Q :: after) ->
      close E d ans P Q -> forall S,
      joint (before ++ P :: after) S <= E * joint (before ++ Q :: after) S + d /\
      joint (before ++ Q :: after) S <= E * joint (before ++ P :: after) S + d.
    Proof. intros HP HQ H S. split; apply one_way; auto; intros S'; apply H. Qed.
  End OneGroup.

  (** proven.md section 8, by group: a replaced person leaves one group and enters another; with
      E = e^(eps/2) two changes at (E, d) cost E^2 = e^eps and d + E d. *)
  Theorem groups_substitution E d before between after P P' Q Q' : 1 <= E -> 0 <= d ->
    (forall R R', (R = P \/ R = P') -> (R' = Q \/ R' = Q') -> all_dist (before ++ R :: between ++ R' :: after)) ->
    close E d ans P P' -> close E d ans Q Q' -> forall S,
    joint (before ++ P :: between ++ Q :: after) S
      <= E * E * joint (before ++ P' :: between ++ Q' :: after) S + (d + E * d).
  Proof.
    intros HE Hd D HP HQ S.
    assert (S1 : joint (before ++ P :: between ++ Q :: after) S <= E * joint (before ++ P' :: between ++ Q :: after) S + d).
    { apply one_way; auto. intros T. apply HP. }
    assert (S2 : joint (before ++ P' :: between ++ Q :: after) S <= E * joint (before ++ P' :: between ++ Q' :: after) S + d).
    { assert (X : forall R, before ++ P' :: between ++ R :: after = (before ++ P' :: between) ++ R :: after)
        by (intros; now rewrite <- app_assoc).
      rewrite !X. apply one_way; auto; try (rewrite <- X; auto). intros T. apply HQ. }
    nra.
  Qed.
  (** proven.md section 8, by group: so delta' = delta / (1 + e^(eps/2)) for each change is delta in all. *)
  Lemma half_delta E delta : 1 <= E -> let d := delta / (1 + E) in d + E * d = delta.
  Proof. intros H d. unfold d. field. lra. Qed.
End Groups.

(** ** Which values occur *)
Section Keys.
  Variables E d : R.
  Hypothesis HE : 1 <= E.
  Hypothesis Hd : 0 <= d <= 1.
  (** a value that t people have is kept with this probability *)
  Definition kept (t : nat) : R := iter (F E d) t 0.
  Definition keeps (t : nat) (b : bool) : R := if b then kept t else 1 - kept t.

  Lemma kept_range t : 0 <= kept t <= 1.
  Proof. apply (iter_tradeoff (F E d) t (F_is_tradeoff E d HE Hd)). lra. Qed.
  Lemma keeps_dist t : dist (keeps t) [true; false].
  Proof. pose proof (kept_range t). split; [intros [|] _; simpl; lra|simpl; lra]. Qed.
  Lemma kept_close t : close E d [true; false] (keeps (S t)) (keeps t).
  Proof.
    apply theorem_1_closeness; auto using keeps_dist. intros S0.
    pose proof (kept_range t). pose proof (kept_range (S t)). pose proof (F_is_tradeoff E d HE Hd) as T.
    pose proof (tr_ge _ T (kept t) ltac:(lra)) as G1. unfold pr. simpl sum.
    change (kept (S t)) with (F E d (kept t)) in *.
    destruct (S0 true), (S0 false); simpl; rewrite ?Rplus_0_r, ?Rplus_0_l.
    - pose proof (tr_ge _ T 1 ltac:(lra)). replace (kept t + (1 - kept t)) with 1 by lra. unfold kept in *. simpl. lra.
    - unfold kept at 1. simpl. fold (kept t). lra.
    - unfold kept at 1. simpl. fold (kept t). pose proof (tr_ge _ T (1 - kept t) ltac:(lra)). lra.
    - apply (tr_ge _ T 0). lra.
  Qed.

  (** proven.md section 8, keys: one person more in one value keeps the joint law of all kept values
      (epsilon, delta)-close. *)
  Theorem keys_private (before after : list nat) t S :
    let laws c := map keeps (before ++ c :: after) in
    joint [true; false] (laws (Datatypes.S t)) S <= E * joint [true; false] (laws t) S + d /\
    joint [true; false] (laws t) S <= E * joint [true; false] (laws (Datatypes.S t)) S + d.
  Proof.
    intros laws. unfold laws. rewrite !map_app. simpl map.
    assert (A : forall c, all_dist [true; false] (map keeps before ++ keeps c :: map keeps after)).
    { intros c P HP. rewrite in_app_iff in HP. simpl in HP. rewrite !in_map_iff in HP.
      destruct HP as [(k & <- & _)|[<-|(k & <- & _)]]; apply keeps_dist. }
    apply groups_private; auto; [lra|]. apply kept_close.
  Qed.

  (** proven.md section 8, keys: no private mechanism keeps a value more often, if it never invents one. *)
  Theorem keys_greatest (p : nat -> R) : p 0%nat = 0 -> (forall t, 0 <= p t <= 1) ->
    (forall t, p (S t) <= E * p t + d /\ 1 - p t <= E * (1 - p (S t)) + d) -> forall t, p t <= kept t.
  Proof.
    intros H0 R H. induction t as [|t IH]; [rewrite H0; unfold kept; simpl; lra|].
    assert (p (S t) <= F E d (p t)) by (apply F_spec; auto; pose proof (R (S t)); pose proof (H t); lra).
    pose proof (kept_range t). pose proof (R t).
    pose proof (tr_mono _ (F_is_tradeoff E d HE Hd) (p t) (kept t) ltac:(lra) IH ltac:(lra)).
    unfold kept in *. simpl. lra.
  Qed.
End Keys.
