(** Cutting both tails of an ordered law (docs/proven.md, section 14).

    Take an epsilon-DP law on ordered answers, cut beta from both ends, and stretch the rest to mass one.
    If every move shifts the distribution function in one direction, the result is (epsilon, delta)-DP.
    The excess of an event telescopes along the order, and beta = delta/(E - 1 + 2 delta) is just enough. *)
Require Import Reals Lra Lia Psatz List Permutation Bool Arith.
Require Import DP.StepFunction DP.Raising DP.OneLevel.
Import ListNotations.
Open Scope R_scope.

Definition clamp (b s : R) : R := Rmax b (Rmin (1 - b) s).
Definition clip01 (s : R) : R := Rmax 0 (Rmin 1 s).
(** what the software computes: clip((G - beta) / (1 - 2 beta), 0, 1) *)
Definition cut (b s : R) : R := clip01 ((s - b) / (1 - 2 * b)).

Section Cut.
  Variables E b : R.
  Hypothesis HE : 1 <= E.
  Hypothesis Hb : 0 <= b < 1 / 2.

  Lemma cut_clamp s : (1 - 2 * b) * cut b s = clamp b s - b.
  Proof.
    unfold cut, clip01, clamp. set (t := (s - b) / (1 - 2 * b)).
    assert (Ht : (1 - 2 * b) * t = s - b) by (unfold t; field; lra). clearbody t.
    unfold Rmax, Rmin. repeat destruct (Rle_dec _ _); nra.
  Qed.

  Definition phi s := 1 - b - clamp b s.
  Lemma phi_le g g' : g <= g' -> g' <= 1 -> 1 - g <= E * (1 - g') -> phi g <= E * phi g' + (E - 1) * b.
  Proof.
    intros H H1 H2. unfold phi, clamp, Rmax, Rmin. repeat destruct (Rle_dec _ _); nra.
  Qed.
  Lemma clamp_mono s t : s <= t -> clamp b s <= clamp b t.
  Proof. intros H. unfold clamp, Rmax, Rmin. repeat destruct (Rle_dec _ _); lra. Qed.
  Lemma no_excess g x g' x' : g <= g' -> g + x <= g' + x' -> 0 <= x -> x <= E * x' -> 0 <= x' ->
    g' + x' <= 1 - b -> clamp b (g + x) - clamp b g <= E * (clamp b (g' + x') - clamp b g').
  Proof.
    intros H1 H2 H3 H4 H5 H6. destruct (Rle_dec g' b) as [c|c].
    - assert (e : clamp b g' = b) by (unfold clamp, Rmax, Rmin; repeat destruct (Rle_dec _ _); lra).
      assert (e' : clamp b g = b) by (unfold clamp, Rmax, Rmin; repeat destruct (Rle_dec _ _); lra).
      pose proof (clamp_mono (g + x) (g' + x') H2). pose proof (clamp_mono g' (g' + x') ltac:(lra)).
      rewrite e, e' in *. nra.
    - assert (e : clamp b (g' + x') - clamp b g' = x')
        by (unfold clamp, Rmax, Rmin; repeat destruct (Rle_dec _ _); lra).
      assert (e' : clamp b (g + x) - clamp b g <= x)
        by (unfold clamp, Rmax, Rmin; repeat destruct (Rle_dec _ _); lra).
      rewrite e. lra.
  Qed.
  Lemma clamp_top s : 1 - b <= s -> clamp b s = 1 - b.
  Proof. intros H. unfold clamp, Rmax, Rmin. repeat destruct (Rle_dec _ _); lra. Qed.

  Context {A : Type}.
  Variables p p' q q' : A -> R.

  (** q, q' here: increments of the clamped sums (not yet divided by 1 - 2 beta) *)
  Lemma cut_from l : forall g g',
    (forall a, In a l -> 0 <= p a /\ 0 <= p' a /\ p a <= E * p' a) ->
    g + sum p l = 1 -> g' + sum p' l = 1 ->
    (forall k, g + sum p (firstn k l) <= g' + sum p' (firstn k l)) ->
    (forall k, (k < length l)%nat -> forall a, nth_error l k = Some a ->
       q a = clamp b (g + sum p (firstn (Datatypes.S k) l)) - clamp b (g + sum p (firstn k l))) ->
    (forall k, (k < length l)%nat -> forall a, nth_error l k = Some a ->
       q' a = clamp b (g' + sum p' (firstn (Datatypes.S k) l)) - clamp b (g' + sum p' (firstn k l))) ->
    forall S, pr q l S - E * pr q' l S <= (E - 1) * b /\ pr q l S - E * pr q' l S <= phi g.
  Proof.
    induction l as [|a r IH]; intros g g' Hp Hg Hg' Ho Hq Hq' S; unfold pr in *; simpl in *.
    - replace g with 1 by lra. unfold phi. rewrite clamp_top by lra. nra.
    - destruct (Hp a ltac:(auto)) as (Pa & Pa' & Pe).
      assert (Sr : sum p r <= E * sum p' r /\ 0 <= sum p r /\ 0 <= sum p' r).
      { assert (Hr : forall c, In c r -> 0 <= p c /\ 0 <= p' c /\ p c <= E * p' c) by auto.
        clear - Hr HE. induction r as [|c r IH]; simpl; [nra|].
        destruct (Hr c ltac:(simpl; auto)) as (?&?&?). assert (forall x, In x r -> 0 <= p x /\ 0 <= p' x /\ p x <= E * p' x).
        { intros; apply Hr; simpl; auto. }
        specialize (IH H2). nra. }
      assert (O0 := Ho 0%nat). assert (O1 := Ho 1%nat). simpl in O0, O1. rewrite !Rplus_0_r in *.
      specialize (IH (g + p a) (g' + p' a)).
      destruct (fun X1 X2 X3 X4 X5 X6 => IH X1 X2 X3 X4 X5 X6 S) as [I1 I2]; auto; try lra.
      { intros k. specialize (Ho (Datatypes.S k)). simpl in Ho. lra. }
      { intros k Hk c Hc. specialize (Hq (Datatypes.S k) ltac:(lia) c Hc). simpl in Hq.
        rewrite !Rplus_assoc. exact Hq. }
      { intros k Hk c Hc. specialize (Hq' (Datatypes.S k) ltac:(lia) c Hc). simpl in Hq'.
        rewrite !Rplus_assoc. exact Hq'. }
      assert (Q0 := Hq 0%nat ltac:(lia) a eq_refl). assert (Q0' := Hq' 0%nat ltac:(lia) a eq_refl).
      simpl in Q0, Q0'. rewrite !Rplus_0_r in *.
      pose proof (phi_le g g' ltac:(lra) ltac:(lra) ltac:(nra)) as F0.
      pose proof (phi_le (g + p a) (g' + p' a) ltac:(lra) ltac:(lra) ltac:(nra)) as F1.
      pose proof (clamp_mono g (g + p a) ltac:(lra)).
      pose proof (clamp_mono g' (g' + p' a) ltac:(lra)).
      assert (U : phi (g + p a) = phi g - q a) by (unfold phi; lra).
      assert (QP : 0 <= q a) by lra. assert (QP' : 0 <= q' a) by lra.
      destruct (S a).
      + split.
        * destruct (Rle_dec (g' + p' a) (1 - b)) as [c|c].
          { pose proof (no_excess g (p a) g' (p' a) ltac:(lra) ltac:(lra) Pa Pe Pa' c).
            rewrite <- Q0, <- Q0' in *. lra. }
          { assert (e : q' a = phi g') by (rewrite Q0'; unfold phi; rewrite (clamp_top (g' + p' a)); lra).
            rewrite e. lra. }
        * nra.
      + rewrite !Rplus_0_l. split; lra.
  Qed.
End Cut.

Section CutTheorem.
  Variables E d : R.
  Hypothesis HE : 1 <= E.
  (** any beta with this property will do; see [beta_best] and [beta_rank] below *)
  Variable beta : R.
  Hypothesis beta_range : 0 <= beta < 1 / 2.
  Hypothesis beta_tight : (E - 1) * beta <= d * (1 - 2 * beta).

  Context {A : Type}.
  (** the law whose prefix sums along [l] are the cut ones *)
  Definition is_cut (p q : A -> R) (l : list A) : Prop :=
    forall k, (k <= length l)%nat -> pre q l k = cut beta (pre p l k).

  Lemma sum_scale c (f : A -> R) l : sum (fun a => c * f a) l = c * sum f l.
  Proof. induction l; simpl; lra. Qed.
  Lemma pr_scale c (f : A -> R) l S : pr (fun a => c * f a) l S = c * pr f l S.
  Proof.
    unfold pr. rewrite <- sum_scale. apply sum_ext. intros a _. destruct (S a); lra.
  Qed.

  Lemma pre_S (f : A -> R) l k a : nth_error l k = Some a -> pre f l (Datatypes.S k) = pre f l k + f a.
  Proof.
    unfold pre. revert k. induction l as [|c r IH]; intros [|k] H; simpl in *; try discriminate.
    - inversion H; subst. lra.
    - specialize (IH k H). simpl in IH. lra.
  Qed.

  Lemma is_cut_incr p q l k a : is_cut p q l -> nth_error l k = Some a ->
    (1 - 2 * beta) * q a = clamp beta (pre p l (Datatypes.S k)) - clamp beta (pre p l k).
  Proof.
    intros H Hk. assert (L : (k < length l)%nat) by (apply nth_error_Some; congruence).
    pose proof (H k ltac:(lia)). pose proof (H (Datatypes.S k) ltac:(lia)).
    pose proof (pre_S q l k a Hk).
    pose proof (cut_clamp beta beta_range (pre p l k)).
    pose proof (cut_clamp beta beta_range (pre p l (Datatypes.S k))).
    replace (q a) with (cut beta (pre p l (Datatypes.S k)) - cut beta (pre p l k)) by lra. lra.
  Qed.

  Lemma cut_one_way p p' q q' l : dist p l -> dist p' l ->
    (forall a, In a l -> p a <= E * p' a) ->
    (forall k, pre p l k <= pre p' l k) -> is_cut p q l -> is_cut p' q' l ->
    forall S, pr q l S <= E * pr q' l S + d.
  Proof.
    intros [P1 P2] [P1' P2'] HP HO HQ HQ' S. pose proof beta_range as B. pose proof beta_tight as BT.
    destruct (cut_from E beta HE B p p' (fun a => (1 - 2 * beta) * q a) (fun a => (1 - 2 * beta) * q' a) l 0 0)
      with (S := S) as [H _]; try lra; auto.
    - intros k. rewrite !Rplus_0_l. apply HO.
    - intros k Hk a Ha. rewrite !Rplus_0_l. now apply is_cut_incr.
    - intros k Hk a Ha. rewrite !Rplus_0_l. now apply is_cut_incr.
    - rewrite !pr_scale in H.
      apply Rmult_le_reg_l with (1 - 2 * beta); [lra|]. lra.
  Qed.

  Lemma pre_rev (f : A -> R) l k : (k <= length l)%nat ->
    pre f (rev l) k = sum f l - pre f l (length l - k).
  Proof.
    intros Hk. unfold pre. rewrite firstn_rev.
    rewrite (sum_perm f (rev _) (skipn (length l - k) l)) by (apply Permutation_sym, Permutation_rev).
    assert (X : sum f l = sum f (firstn (length l - k) l) + sum f (skipn (length l - k) l)).
    { rewrite <- sum_app. now rewrite firstn_skipn. }
    lra.
  Qed.

  Lemma cut_mirror s : cut beta (1 - s) = 1 - cut beta s.
  Proof.
    pose proof beta_range as B.
    apply Rmult_eq_reg_l with (1 - 2 * beta); [|lra].
    rewrite (cut_clamp beta B), Rmult_minus_distr_l, (cut_clamp beta B).
    unfold clamp, Rmax, Rmin. repeat destruct (Rle_dec _ _); lra.
  Qed.

  Lemma is_cut_rev p q l : dist p l -> is_cut p q l -> is_cut p q (rev l).
  Proof.
    intros [_ P2] H k Hk. rewrite rev_length in Hk. rewrite !pre_rev by auto. rewrite P2, cut_mirror.
    rewrite <- (H (length l - k)%nat) by lia.
    assert (K := H (length l) ltac:(lia)). unfold pre in K. rewrite !firstn_all, P2 in K.
    replace (cut beta 1) with 1 in K; [unfold pre; lra|].
    pose proof beta_range as B. apply Rmult_eq_reg_l with (1 - 2 * beta); [|lra].
    rewrite (cut_clamp beta B). rewrite clamp_top by lra. lra.
  Qed.

  (** proven.md section 14, cut theorem: an ordered epsilon-DP law with both tails cut is (epsilon, delta)-DP. *)
  Theorem cut_theorem p p' q q' l : dist p l -> dist p' l ->
    (forall a, In a l -> p a <= E * p' a /\ p' a <= E * p a) ->       (* epsilon-DP *)
    (forall k, pre p l k <= pre p' l k) ->                             (* ordered *)
    is_cut p q l -> is_cut p' q' l -> close E d l q q'.
  Proof.
    intros D D' HP HO HQ HQ' S. split.
    - apply (cut_one_way p p' q q'); auto. intros a Ha. now apply HP.
    - rewrite !(pr_perm _ l (rev l)) by apply Permutation_rev.
      apply (cut_one_way p' p q' q).
      + apply (dist_perm _ l); auto. apply Permutation_rev.
      + apply (dist_perm _ l); auto. apply Permutation_rev.
      + intros a Ha. apply in_rev in Ha. now apply HP.
      + intros k. destruct (le_lt_dec k (length l)) as [L|L].
        * rewrite !pre_rev by auto. destruct D as [_ ->], D' as [_ ->].
          specialize (HO (length l - k)%nat). lra.
        * unfold pre. rewrite !firstn_all2 by (rewrite rev_length; lia).
          rewrite !(sum_perm _ (rev l) l) by (apply Permutation_sym, Permutation_rev).
          destruct D as [_ ->], D' as [_ ->]. lra.
      + now apply is_cut_rev.
      + now apply is_cut_rev.
  Qed.
End CutTheorem.

(** proven.md section 14: beta = delta / (E - 1 + 2 delta) is exactly what the cut theorem needs. *)
Lemma beta_best E d : 1 < E -> 0 <= d -> let b := d / (E - 1 + 2 * d) in
  0 <= b < 1 / 2 /\ (E - 1) * b = d * (1 - 2 * b).
Proof.
  intros HE Hd b. assert (e : b * (E - 1 + 2 * d) = d) by (unfold b; field; lra).
  repeat split; [unfold b; apply Rle_mult_inv_pos; lra| |lra].
  apply Rmult_lt_reg_r with (E - 1 + 2 * d); lra.
Qed.
(** ... and delta / (E + 2 delta), smaller, as used for the smoothed rank so far *)
Lemma beta_rank E d : 1 <= E -> 0 <= d -> let b := d / (E + 2 * d) in
  0 <= b < 1 / 2 /\ (E - 1) * b <= d * (1 - 2 * b).
Proof.
  intros HE Hd b. assert (e : b * (E + 2 * d) = d) by (unfold b; field; lra).
  assert (0 <= b) by (unfold b; apply Rle_mult_inv_pos; lra).
  repeat split; [auto| |lra]. apply Rmult_lt_reg_r with (E + 2 * d); lra.
Qed.

(** ** Two answers: any epsilon-DP law, ordered or not *)
Section TwoAnswersDelta.
  Variables E d beta : R.
  Hypothesis HE : 1 <= E.
  Hypothesis Hb : 0 <= beta < 1 / 2.
  Hypothesis beta_tight : (E - 1) * beta <= d * (1 - 2 * beta).

  Lemma transform_one_way P P' : 0 <= P' -> P <= E * P' -> cut beta P <= E * cut beta P' + d.
  Proof.
    intros H0 H. apply Rmult_le_reg_l with (1 - 2 * beta); [lra|].
    rewrite Rmult_plus_distr_l, <- (Rmult_assoc _ E), (Rmult_comm _ E), Rmult_assoc, !(cut_clamp beta Hb).
    assert (clamp beta P <= E * clamp beta P'); [|lra].
    unfold clamp, Rmax, Rmin. repeat destruct (Rle_dec _ _); nra.
  Qed.
  (** proven.md section 8: an epsilon-DP probability P of yes becomes the (epsilon, delta)-DP probability
      clip((P - beta) / (1 - 2 beta), 0, 1). *)
  Theorem two_answers_with_delta P P' : 0 <= P <= 1 -> 0 <= P' <= 1 ->
    P <= E * P' -> P' <= E * P -> 1 - P <= E * (1 - P') -> 1 - P' <= E * (1 - P) ->
    cut beta P <= F E d (cut beta P').
  Proof.
    intros H0 H0' H1 H2 H3 H4. apply F_spec; auto.
    assert (R1 : forall s, 0 <= cut beta s <= 1).
    { intros s. unfold cut, clip01, Rmax, Rmin. repeat destruct (Rle_dec _ _); lra. }
    pose proof (R1 P). pose proof (transform_one_way P P' ltac:(lra) H1).
    pose proof (transform_one_way (1 - P') (1 - P) ltac:(lra) H4) as K.
    rewrite !(cut_mirror beta Hb) in K. lra.
  Qed.
End TwoAnswersDelta.
