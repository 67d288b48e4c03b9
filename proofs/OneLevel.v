(** One level everywhere: the optimum on a graph of datasets (docs/proven.md, section 4).

    Every dataset orders the answers by preference. At distance t from the boundary of its own region,
    the optimum has the prefix sums F^t(s_k). It is private because distances of neighbours differ by
    at most one, and greatest because a prefix event can grow by at most one F with every edge.
    Any graph, any number of answers, any symmetric trade-off function. *)
Require Import Reals Lra Lia Psatz List Permutation Bool Arith.
Require Import DP.StepFunction DP.Raising.
Import ListNotations.
Open Scope R_scope.

Fixpoint iter (G : R -> R) (n : nat) (s : R) : R :=
  match n with O => s | Datatypes.S n => G (iter G n s) end.

Lemma iter_comm G n s : iter G n (G s) = G (iter G n s).
Proof. induction n as [|n IH]; simpl; [auto|]. now rewrite IH. Qed.

Lemma iter_tradeoff G n : tradeoff G -> tradeoff (iter G n).
Proof.
  intros H. induction n as [|n IH].
  - split; simpl; intros; lra.
  - destruct IH as [i1 i2 i3 i4], H as [g1 g2 g3 g4].
    split; simpl.
    + intros s Hs. specialize (i1 s Hs). specialize (g1 (iter G n s) ltac:(lra)). lra.
    + intros s t Hs Hst Ht. pose proof (i1 s ltac:(lra)). pose proof (i1 t ltac:(lra)).
      apply g2; try lra. now apply i2.
    + intros a b w Ha Hb Hw. pose proof (i1 a Ha). pose proof (i1 b Hb).
      pose proof (g3 (iter G n a) (iter G n b) w ltac:(lra) ltac:(lra) Hw).
      pose proof (i3 a b w Ha Hb Hw).
      pose proof (i1 (w * a + (1 - w) * b) ltac:(nra)).
      pose proof (g2 (w * iter G n a + (1 - w) * iter G n b) (iter G n (w * a + (1 - w) * b))
                  ltac:(nra) ltac:(lra) ltac:(lra)). lra.
    + intros x y Hx Hy H. pose proof (i1 y Hy). pose proof (g1 (1 - x) ltac:(lra)).
      apply g4 in H; try lra.
      assert (K : 1 - G (1 - x) <= iter G n y) by lra. apply i4 in K; try lra.
      replace (1 - (1 - G (1 - x))) with (G (1 - x)) in K by lra. now rewrite iter_comm in K.
Qed.

Section Prefixes.
  Context {A : Type}.
  Variable eqd : forall x y : A, {x = y} + {x <> y}.
  Definition memb (l : list A) (a : A) : bool := if in_dec eqd a l then true else false.
  (** prefix sum: probability of the k first answers of the order [l] *)
  Definition pre (p : A -> R) (l : list A) (k : nat) : R := sum p (firstn k l).

  Lemma prefix_event p l k : NoDup l -> pr p l (memb (firstn k l)) = pre p l k.
  Proof.
    intros ND. unfold pr, pre. set (f := fun a => if memb (firstn k l) a then p a else 0).
    replace (sum f l) with (sum f (firstn k l ++ skipn k l)) by now rewrite firstn_skipn.
    rewrite sum_app. unfold f. clear f.
    assert (X : forall a, In a (skipn k l) -> ~ In a (firstn k l)).
    { rewrite <- (firstn_skipn k l) in ND. intros a Ha Hb.
      apply in_split in Ha. destruct Ha as (u & v & Huv). rewrite Huv, app_assoc in ND.
      apply NoDup_remove_2 in ND. apply ND. rewrite !in_app_iff. auto. }
    rewrite (sum_ext _ p (firstn k l)), (sum_ext _ (fun _ => 0) (skipn k l)).
    - assert (Z : forall r : list A, sum (fun _ => 0) r = 0) by (induction r; simpl; lra).
      rewrite Z. lra.
    - intros a Ha. unfold memb. destruct (in_dec eqd a (firstn k l)); auto. now apply X in Ha.
    - intros a Ha. unfold memb. destruct (in_dec eqd a (firstn k l)); tauto.
  Qed.

  Lemma pre_eq p q l : (forall k, (1 <= k <= length l)%nat -> pre p l k = pre q l k) ->
    forall a, In a l -> p a = q a.
  Proof.
    unfold pre. assert (G : forall l s s', (forall k, (k <= length l)%nat ->
       s + sum p (firstn k l) = s' + sum q (firstn k l)) -> forall a, In a l -> p a = q a).
    { clear l. induction l as [|b r IH]; intros s s' H a Ha; simpl in *; [tauto|].
      assert (H0 := H 0%nat ltac:(lia)). assert (H1 := H 1%nat ltac:(lia)). simpl in H0, H1.
      destruct Ha as [->|Ha]; [lra|]. apply (IH (s + p b) (s' + q b)); auto.
      intros k Hk. specialize (H (Datatypes.S k) ltac:(lia)). simpl in H. lra. }
    intros H. apply (G l 0 0). intros [|k] Hk; [simpl; lra|]. rewrite H; auto. lia.
  Qed.

  Lemma pr_ext (p q : A -> R) l S : (forall a, In a l -> p a = q a) -> pr p l S = pr q l S.
  Proof. intros H. apply sum_ext. intros a Ha. now rewrite H. Qed.

  (** a law with given prefix sums exists *)
  Fixpoint law (h : nat -> R) (l : list A) (a : A) : R :=
    match l with
    | [] => 0
    | b :: r => if eqd a b then h 1%nat - h 0%nat else law (fun k => h (Datatypes.S k)) r a
    end.
  Lemma law_pre l : forall h k, NoDup l -> (k <= length l)%nat -> pre (law h l) l k = h k - h 0%nat.
  Proof.
    unfold pre. induction l as [|b r IH]; intros h k ND Hk.
    - simpl in Hk. replace k with 0%nat by lia. simpl. lra.
    - destruct k as [|k]; [simpl; lra|]. simpl in *. inversion ND; subst.
      destruct (eqd b b) as [_|n]; [|tauto].
      rewrite (sum_ext _ (law (fun k => h (Datatypes.S k)) r)).
      + rewrite (IH (fun k => h (Datatypes.S k)) k); auto; [lra|lia].
      + intros a Ha. destruct (eqd a b) as [->|]; auto. exfalso. apply H1.
        rewrite <- (firstn_skipn k r). apply in_app_iff. auto.
  Qed.
End Prefixes.

Section Optimum.
  Context {V A : Type}.
  Variable eqd : forall x y : A, {x = y} + {x <> y}.
  Variable G : R -> R.
  Hypothesis HG : tradeoff G.
  (** the answers, the graph of datasets, each dataset's order of the answers *)
  Variable ans : list A.
  Hypothesis ans_nodup : NoDup ans.
  Variable adj : V -> V -> Prop.
  Hypothesis adj_sym : forall u v, adj u v -> adj v u.
  Variable pref : V -> list A.
  Hypothesis pref_perm : forall v, Permutation ans (pref v).
  Hypothesis pref_dec : forall u v, {pref u = pref v} + {pref u <> pref v}.

  (** the boundary of the own region, and walks to it inside of the region *)
  Definition boundary v := exists u, adj v u /\ pref u <> pref v.
  Inductive reach : nat -> V -> Prop :=
  | reach_0 v : boundary v -> reach 0 v
  | reach_S n v u : adj v u -> pref u = pref v -> reach n u -> reach (Datatypes.S n) v.

  (** the distance to the boundary; None: no boundary in this component *)
  Variable d : V -> option nat.
  Hypothesis d_some : forall v n, d v = Some n -> reach n v /\ forall k, reach k v -> (n <= k)%nat.
  Hypothesis d_none : forall v, d v = None -> forall k, ~ reach k v.

  (** one law per preference for the boundary, close where regions touch *)
  Variable m : list A -> A -> R.
  Hypothesis m_dist : forall v, dist (m (pref v)) ans.
  Hypothesis m_close : forall u v, adj u v -> pref u <> pref v ->
    closeF G ans (m (pref u)) (m (pref v)).

  Definition target v k : R :=
    match d v with Some n => iter G n (pre (m (pref v)) (pref v) k) | None => 1 end.
  (** M has the prefix sums F^t(s_k), k = 1..q *)
  Definition has_prefix_sums (M : V -> A -> R) : Prop :=
    forall v k, (1 <= k <= length (pref v))%nat -> pre (M v) (pref v) k = target v k.
  Definition mechanism (M : V -> A -> R) := forall v, dist (M v) ans.
  Definition private (M : V -> A -> R) := forall u v, adj u v -> closeF G ans (M u) (M v).

  Lemma nodup_pref v : NoDup (pref v).
  Proof. apply Permutation_NoDup with ans; auto. Qed.

  Lemma d_neighbour u v n k : adj u v -> pref u = pref v -> d u = Some n -> d v = Some k ->
    (k <= n + 1)%nat.
  Proof.
    intros Ha Hp Hu Hv. apply d_some in Hu. apply d_some in Hv. apply Hv.
    replace (n + 1)%nat with (Datatypes.S n) by lia. apply reach_S with u; auto. apply Hu.
  Qed.
  Lemma d_none_neighbour u v : adj u v -> pref u = pref v -> d u = None -> d v = None.
  Proof.
    intros Ha Hp Hu. destruct (d v) as [k|] eqn:Hv; auto. apply d_some in Hv.
    exfalso. apply (d_none u Hu (Datatypes.S k)). apply reach_S with v; auto. apply Hv.
  Qed.
  Lemma d_boundary v : boundary v -> d v = Some 0%nat.
  Proof.
    intros Hb. destruct (d v) as [n|] eqn:Hv.
    - apply d_some in Hv. destruct Hv as [_ Hv]. specialize (Hv 0%nat (reach_0 v Hb)).
      f_equal. lia.
    - exfalso. apply (d_none v Hv 0%nat). now constructor.
  Qed.

  Lemma pre_range p v k : dist p (pref v) -> 0 <= pre p (pref v) k <= 1.
  Proof.
    intros H. rewrite <- (prefix_event eqd) by apply nodup_pref. now apply pr_range.
  Qed.

  Lemma one_law v (h : A -> R) : (forall k, (1 <= k <= length (pref v))%nat -> pre h (pref v) k = 1) ->
    dist h (pref v).
  Proof.
    intros H. assert (L : (1 <= length (pref v))%nat).
    { rewrite <- (Permutation_length (pref_perm v)). destruct (m_dist v) as [_ S1].
      destruct ans; simpl in *; [lra|lia]. }
    assert (HM := m_dist v). apply (dist_perm _ _ _ (pref_perm v)) in HM.
    unfold pre in H. destruct (pref v) as [|b r]; [simpl in L; lia|]. simpl in *.
    assert (H1 := H 1%nat ltac:(lia)). simpl in H1.
    assert (K : forall a, In a r -> h a = 0).
    { apply (pre_eq h (fun _ => 0) r). intros k Hk. unfold pre.
      assert (Z : forall l : list A, sum (fun _ => 0) l = 0) by (induction l; simpl; lra).
      specialize (H (Datatypes.S k) ltac:(lia)). simpl in H. rewrite Z. lra. }
    split.
    - intros a [->|Ha]; [lra|]. rewrite K; auto; lra.
    - specialize (H (Datatypes.S (length r)) ltac:(lia)). simpl in H. now rewrite firstn_all in H.
  Qed.

  Lemma optimum_dist M : has_prefix_sums M -> mechanism M.
  Proof.
    intros H v. apply (dist_perm _ (pref v)); [now apply Permutation_sym|].
    specialize (H v). unfold target in H. destruct (d v) as [n|] eqn:Hv.
    - apply (raised_dist (iter G n) (iter_tradeoff G n HG) (m (pref v)) (M v)).
      + apply (dist_perm _ ans); auto.
      + intros k Hk. now apply H.
    - now apply one_law.
  Qed.

  (** proven.md section 4, Theorem 3: the mechanism with prefix sums F^t(s_k) is private. *)
  Theorem theorem_3_private M : has_prefix_sums M -> private M.
  Proof.
    intros H u v Ha. assert (D := optimum_dist M H).
    destruct (pref_dec u v) as [Hp|Hp].
    - apply (closeF_perm _ (pref u)); [now apply Permutation_sym|].
      assert (Du : dist (M u) (pref u)) by (apply (dist_perm _ ans); auto).
      assert (Dv : dist (M v) (pref u)) by (apply (dist_perm _ ans); auto).
      assert (Hu := H u). assert (Hv := H v). unfold target in Hu, Hv. rewrite <- Hp in Hv.
      assert (same : (forall k, (1 <= k <= length (pref u))%nat ->
                pre (M u) (pref u) k = pre (M v) (pref u) k) -> closeF G (pref u) (M u) (M v)).
      { intros S0 S. rewrite (pr_ext (M u) (M v)); [now apply closeF_refl|]. now apply pre_eq. }
      destruct (d u) as [n|] eqn:En.
      + destruct (d v) as [k|] eqn:Ek.
        * assert (B1 := d_neighbour u v n k Ha Hp En Ek).
          assert (B2 := d_neighbour v u k n (adj_sym _ _ Ha) (eq_sym Hp) Ek En).
          destruct (Nat.eq_dec n k) as [->|Hnk].
          { apply same. intros j Hj. now rewrite Hu, Hv. }
          destruct (le_lt_dec n k) as [L|L].
          { replace k with (Datatypes.S n) in Hv by lia.
            apply (theorem_2_raising G HG (M u) (M v)); auto. intros j Hj.
            change (sum (M v) (firstn j (pref u))) with (pre (M v) (pref u) j).
            change (sum (M u) (firstn j (pref u))) with (pre (M u) (pref u) j).
            now rewrite Hu, Hv. }
          { replace n with (Datatypes.S k) in Hu by lia.
            apply (theorem_2_raising G HG (M v) (M u)); auto. intros j Hj.
            change (sum (M v) (firstn j (pref u))) with (pre (M v) (pref u) j).
            change (sum (M u) (firstn j (pref u))) with (pre (M u) (pref u) j).
            now rewrite Hu, Hv. }
        * apply adj_sym in Ha. apply (d_none_neighbour v u) in Ha; auto. congruence.
      + assert (Ek := d_none_neighbour u v Ha Hp En). rewrite Ek in Hv.
        apply same. intros j Hj. now rewrite Hu, Hv.
    - assert (Bu : boundary u) by (exists v; auto).
      assert (Bv : boundary v) by (exists u; auto).
      assert (Hu := H u). assert (Hv := H v). unfold target in Hu, Hv.
      rewrite (d_boundary u Bu) in Hu. rewrite (d_boundary v Bv) in Hv. simpl in Hu, Hv.
      intros S. rewrite (pr_ext (M u) (m (pref u))), (pr_ext (M v) (m (pref v))).
      + now apply m_close.
      + intros a Hin. apply (pre_eq _ _ (pref v)); auto. apply Permutation_in with ans; auto.
      + intros a Hin. apply (pre_eq _ _ (pref u)); auto. apply Permutation_in with ans; auto.
  Qed.

  (** *** Greatest *)
  Lemma step_bound M' u v k : mechanism M' -> private M' -> adj v u ->
    pref u = pref v -> pre (M' v) (pref v) k <= G (pre (M' u) (pref v) k).
  Proof.
    intros D P Ha Hp. rewrite <- !(prefix_event eqd) by apply nodup_pref.
    rewrite <- !(pr_perm _ ans (pref v)) by auto. now apply P.
  Qed.

  (** proven.md section 4, Theorem 3: it dominates every private mechanism with the same boundary values. *)
  Theorem theorem_3_greatest M M' : has_prefix_sums M -> mechanism M' -> private M' ->
    (forall v, boundary v -> forall k, pre (M' v) (pref v) k <= pre (m (pref v)) (pref v) k) ->
    forall v k, (1 <= k <= length (pref v))%nat -> pre (M' v) (pref v) k <= pre (M v) (pref v) k.
  Proof.
    intros H D P B v k Hk. rewrite H by auto. unfold target.
    assert (Dv : forall v, dist (M' v) (pref v)) by (intros w; apply (dist_perm _ ans); auto).
    destruct (d v) as [n|] eqn:Hv; [|now apply pre_range].
    apply d_some in Hv. destruct Hv as [R _]. clear Hk. revert k.
    induction R as [v Hb|n v u Ha Hp R IH]; intros k; simpl; [now apply B|].
    eapply Rle_trans; [apply (step_bound M' u v k); auto|].
    rewrite <- Hp.
    assert (Dm : dist (m (pref u)) (pref u)) by (apply (dist_perm _ ans); auto).
    pose proof (pre_range _ u k Dm) as Rm.
    pose proof (tr_ge _ (iter_tradeoff G n HG) _ Rm).
    apply (tr_mono G HG); [apply pre_range; auto|apply IH|lra].
  Qed.

  (** *** It exists *)
  Theorem theorem_3_exists : exists M, has_prefix_sums M.
  Proof.
    exists (fun v => law eqd (fun k => match k with O => 0 | _ => target v k end) (pref v)).
    intros v k Hk. rewrite law_pre; [|apply nodup_pref|lia].
    destruct k; [lia|]. lra.
  Qed.

  (** Theorem 3 in one sentence: there is exactly one private mechanism with this boundary that
      dominates every private mechanism with this boundary, and its prefix sums are F^t(s_k). *)
  Definition with_boundary (M : V -> A -> R) := forall v, boundary v ->
    forall a, In a ans -> M v a = m (pref v) a.
  Definition dominates (M M' : V -> A -> R) := forall v k, (1 <= k <= length (pref v))%nat ->
    pre (M' v) (pref v) k <= pre (M v) (pref v) k.

  Lemma firstn_in {T} (a : T) k l : In a (firstn k l) -> In a l.
  Proof. intros H. rewrite <- (firstn_skipn k l). apply in_app_iff. auto. Qed.

  (** proven.md section 4, Theorem 3 in one sentence: exactly one private mechanism with this boundary
    dominates every private mechanism with this boundary, and its prefix sums are F^t(s_k). *)
  Theorem theorem_3_optimum : exists M, mechanism M /\ private M /\ with_boundary M /\ has_prefix_sums M /\
    (forall M', mechanism M' -> private M' -> with_boundary M' -> dominates M M') /\
    (forall M', mechanism M' -> private M' -> with_boundary M' ->
       (forall M'', mechanism M'' -> private M'' -> with_boundary M'' -> dominates M' M'') ->
       forall v a, In a ans -> M' v a = M v a).
  Proof.
    destruct theorem_3_exists as [M H]. exists M.
    assert (D := optimum_dist M H). assert (P := theorem_3_private M H).
    assert (W : with_boundary M).
    { intros v Hb a Hin. apply (pre_eq _ _ (pref v)).
      - intros k Hk. rewrite H by auto. unfold target. now rewrite (d_boundary v Hb).
      - apply Permutation_in with ans; auto. }
    assert (GR : forall M', mechanism M' -> private M' -> with_boundary M' -> dominates M M').
    { intros M' D' P' W' v k Hk. apply theorem_3_greatest; auto. clear v k Hk.
      intros v Hb k. right. apply sum_ext. intros a Hin. apply W'; auto.
      apply Permutation_in with (pref v); [apply Permutation_sym; auto|]. now apply firstn_in with k. }
    repeat split; auto; try apply D.
    intros M' D' P' W' GR' v a Hin. apply (pre_eq _ _ (pref v)).
    - intros k Hk. apply Rle_antisym; [now apply GR|now apply GR'].
    - apply Permutation_in with ans; auto.
  Qed.
End Optimum.
