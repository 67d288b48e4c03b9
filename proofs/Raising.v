(** Raising all prefix sums keeps privacy (docs/proven.md, section 3).

    Apply F to every prefix sum of a law. Increments of a concave function fall, so an event gains at
    most what a prefix of the same weight gains; symmetry gives the other direction. The proof is
    shorter than the printed one and holds for every symmetric trade-off function. *)
Require Import Reals Lra Lia Psatz List Permutation Bool.
Require Import DP.StepFunction.
Import ListNotations.
Open Scope R_scope.

(** [p] and [q] are neighbours' laws: upper bounds for all events, in both directions *)
Definition closeF (G : R -> R) {A} (l : list A) (p q : A -> R) : Prop :=
  forall S, pr p l S <= G (pr q l S).

Section Tradeoff.
  Variable G : R -> R.
  Hypothesis HG : tradeoff G.

  (** increments of a concave function fall *)
  Lemma incr y s x : 0 <= y -> y <= s -> 0 <= x -> s + x <= 1 ->
    G (s + x) - G s <= G (y + x) - G y.
  Proof.
    intros Hy Hys Hx H1. destruct (Req_dec (s + x) y) as [e|ne].
    { replace x with 0 by lra. rewrite !Rplus_0_r. lra. }
    set (w := x / (s + x - y)).
    assert (Hden : 0 < s + x - y) by lra.
    assert (Hw : w * (s + x - y) = x) by (unfold w; field; lra).
    assert (Hw0 : 0 <= w) by (unfold w; apply Rle_mult_inv_pos; lra).
    assert (Hw1 : w <= 1) by nra.
    pose proof (tr_conc G HG (s + x) y w ltac:(lra) ltac:(lra) ltac:(lra)) as A1.
    pose proof (tr_conc G HG y (s + x) w ltac:(lra) ltac:(lra) ltac:(lra)) as A2.
    replace (w * (s + x) + (1 - w) * y) with (y + x) in A1 by lra.
    replace (w * y + (1 - w) * (s + x)) with s in A2 by lra. lra.
  Qed.

  Lemma G_1 : G 1 = 1.
  Proof. pose proof (tr_ge G HG 1 ltac:(lra)). lra. Qed.
  Lemma G_0 : 0 <= G 0.
  Proof. pose proof (tr_ge G HG 0 ltac:(lra)). lra. Qed.

  Lemma closeF_sym {A} (l : list A) p q : dist p l -> dist q l -> closeF G l p q -> closeF G l q p.
  Proof.
    intros Hp Hq H S. specialize (H (fun a => negb (S a))).
    pose proof (pr_compl p l S). pose proof (pr_compl q l S).
    pose proof (pr_range p l S Hp). pose proof (pr_range q l S Hq).
    destruct Hp as [_ Hp], Hq as [_ Hq].
    replace (pr p l (fun a => negb (S a))) with (1 - pr p l S) in H by lra.
    replace (pr q l (fun a => negb (S a))) with (1 - pr q l S) in H by lra.
    apply (tr_sym G HG) in H; try lra.
    replace (1 - (1 - pr p l S)) with (pr p l S) in H by lra. lra.
  Qed.

  Lemma closeF_refl {A} (l : list A) p : dist p l -> closeF G l p p.
  Proof. intros H S. apply (tr_ge G HG). now apply pr_range. Qed.

  Lemma closeF_perm {A} (l l' : list A) p q : Permutation l l' -> closeF G l p q -> closeF G l' p q.
  Proof. intros H C S. rewrite <- (pr_perm p l l' S H), <- (pr_perm q l l' S H). apply C. Qed.

  Section Raised.
    Context {A : Type}.
    Variables p p' : A -> R.
    (** along the order [l], the prefix sums of p' are G of those of p *)
    Definition raised (l : list A) : Prop :=
      forall k, (1 <= k <= length l)%nat -> sum p' (firstn k l) = G (sum p (firstn k l)).

    Lemma after l : forall s s' y,
      (forall k, (k <= length l)%nat -> s' + sum p' (firstn k l) = G (s + sum p (firstn k l))) ->
      (forall a, In a l -> 0 <= p a) -> 0 <= y -> y <= s -> s + sum p l <= 1 ->
      forall S, G y + pr p' l S <= G (y + pr p l S).
    Proof.
      induction l as [|a r IH]; intros s s' y H Hp Hy Hys H1 S; unfold pr in *; simpl in *.
      - rewrite !Rplus_0_r. lra.
      - assert (Ha : 0 <= p a) by (apply Hp; auto).
        assert (Hr : 0 <= sum p r) by (apply sum_nonneg; auto).
        assert (E0 := H 0%nat ltac:(lia)). assert (E1 := H 1%nat ltac:(lia)). simpl in E0, E1.
        rewrite !Rplus_0_r in E0. rewrite !Rplus_0_r in E1.
        assert (HH : forall k, (k <= length r)%nat ->
           (s' + p' a) + sum p' (firstn k r) = G ((s + p a) + sum p (firstn k r))).
        { intros k Hk. specialize (H (Datatypes.S k) ltac:(lia)). simpl in H.
          rewrite !Rplus_assoc. apply H. }
        destruct (S a).
        + specialize (IH (s + p a) (s' + p' a) (y + p a) HH ltac:(auto) ltac:(lra) ltac:(lra) ltac:(lra) S).
          pose proof (incr y s (p a) Hy Hys Ha ltac:(lra)).
          rewrite <- (Rplus_assoc y (p a)). lra.
        + specialize (IH (s + p a) (s' + p' a) y HH ltac:(auto) ltac:(lra) ltac:(lra) ltac:(lra) S).
          rewrite !Rplus_0_l. lra.
    Qed.

    Lemma raised_up l : dist p l -> raised l -> closeF G l p' p.
    Proof.
      intros [Hp Hs] H S. unfold raised in H. destruct l as [|a r]; [simpl in Hs; lra|].
      unfold pr in *. simpl in *.
      assert (Ha : 0 <= p a) by (apply Hp; auto).
      assert (Hr : 0 <= sum p r) by (apply sum_nonneg; auto).
      assert (E1 := H 1%nat ltac:(lia)). simpl in E1. rewrite !Rplus_0_r in E1.
      assert (HH : forall k, (k <= length r)%nat ->
           p' a + sum p' (firstn k r) = G (p a + sum p (firstn k r))).
      { intros k Hk. apply (H (Datatypes.S k)). lia. }
      destruct (S a).
      - rewrite E1. apply (after r (p a) (p' a) (p a)); auto; lra.
      - rewrite !Rplus_0_l. pose proof (after r (p a) (p' a) 0 HH ltac:(auto) ltac:(lra) Ha ltac:(lra) S) as K.
        rewrite Rplus_0_l in K. pose proof G_0. unfold pr in K. lra.
    Qed.

    Lemma firstn_sum_mono f l k : (forall a : A, In a l -> 0 <= f a) -> sum f (firstn k l) <= sum f l.
    Proof.
      revert k. induction l as [|a r IH]; intros [|k] H; simpl in *; try lra.
      - assert (0 <= f a) by auto. assert (0 <= sum f r) by (apply sum_nonneg; auto). lra.
      - specialize (IH k ltac:(auto)). lra.
    Qed.

    Lemma raised_dist l : dist p l -> raised l -> dist p' l.
    Proof.
      intros [Hp Hs] H. unfold raised in H. split.
      - assert (aux : forall r s s',
           (forall k, (k <= length r)%nat -> s' + sum p' (firstn k r) = G (s + sum p (firstn k r))) ->
           (forall a, In a r -> 0 <= p a) -> 0 <= s -> s + sum p r <= 1 -> forall a, In a r -> 0 <= p' a).
        { induction r as [|b r IH]; intros s s' K Kp Ks K1 a Ha; simpl in *; [tauto|].
          assert (Hb : 0 <= p b) by auto. assert (Hr : 0 <= sum p r) by (apply sum_nonneg; auto).
          assert (E0 := K 0%nat ltac:(lia)). assert (E1 := K 1%nat ltac:(lia)). simpl in E0, E1.
          rewrite !Rplus_0_r in *.
          destruct Ha as [->|Ha].
          - pose proof (tr_mono G HG s (s + p a) Ks ltac:(lra) ltac:(lra)). lra.
          - apply (IH (s + p b) (s' + p' b)); auto; try lra.
            intros k Hk. specialize (K (Datatypes.S k) ltac:(lia)). simpl in K.
            rewrite !Rplus_assoc. apply K. }
        destruct l as [|b r]; [simpl in Hs; lra|]. simpl in *.
        assert (Hb : 0 <= p b) by auto. assert (Hr : 0 <= sum p r) by (apply sum_nonneg; auto).
        intros a [->|Ha].
        + assert (E1 := H 1%nat ltac:(lia)). simpl in E1. rewrite !Rplus_0_r in E1.
          pose proof (tr_ge G HG (p a) ltac:(lra)). lra.
        + apply (aux r (p b) (p' b)); auto; try lra. intros k Hk. apply (H (Datatypes.S k)). lia.
      - assert (Hl : (1 <= length l)%nat) by (destruct l; simpl in *; [lra|lia]).
        specialize (H (length l) ltac:(lia)). rewrite !firstn_all in H. rewrite H, Hs. apply G_1.
    Qed.

    (** proven.md section 3, Theorem 2, for every symmetric trade-off function: p and the raised p' are close. *)
    Theorem theorem_2_raising l : dist p l -> raised l -> dist p' l /\ closeF G l p' p /\ closeF G l p p'.
    Proof.
      intros Hp H. assert (Hp' : dist p' l) by now apply raised_dist.
      assert (U : closeF G l p' p) by now apply raised_up.
      repeat split; auto; try apply Hp'. now apply closeF_sym.
    Qed.
  End Raised.
End Tradeoff.

(** proven.md section 3, Theorem 2: raising all prefix sums by F keeps (epsilon, delta)-closeness. *)
Corollary theorem_2_eps_delta E d {A} (l : list A) p p' : 1 <= E -> 0 <= d <= 1 ->
  dist p l -> raised (F E d) p p' l -> dist p' l /\ close E d l p p'.
Proof.
  intros HE Hd Hp H. pose proof (F_is_tradeoff E d HE Hd) as T.
  destruct (theorem_2_raising (F E d) T p p' l Hp H) as (D & _ & C). split; auto.
  apply theorem_1_closeness; auto.
Qed.
