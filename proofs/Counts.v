(** Counts: the geometric law and the cut geometric law (docs/proven.md, section 14).

    One person moves a count by at most one. The law with the tails T(k+1) = max(0, (T(k) - delta)/E)
    is (epsilon, delta)-DP, and for every k at once no private mechanism has a smaller worst-case
    probability of an error above k. The lower bound needs only a symmetric trade-off function: what is
    above y + k seen from y is at least y' - k seen from y' = y + 2k + 1, and F^(2k+1) is symmetric. *)
Require Import Reals Lra Lia Psatz List Permutation Bool Arith ZArith.
Require Import DP.StepFunction DP.Raising DP.OneLevel.
Import ListNotations.
Open Scope R_scope.

Lemma arch x y : 0 < x -> exists N, y < INR N * x.
Proof.
  intros Hx. exists (Z.to_nat (Z.max 0 (up (y / x)))).
  rewrite INR_IZR_INZ, Z2Nat.id by lia. destruct (archimed (y / x)) as [H _].
  assert (IZR (up (y / x)) <= IZR (Z.max 0 (up (y / x)))) by (apply IZR_le; lia).
  assert (K : y / x * x < IZR (Z.max 0 (up (y / x))) * x) by (apply Rmult_lt_compat_r; lra).
  now replace (y / x * x) with y in K by (field; lra).
Qed.

Section CutGeometric.
  Variables E d : R.
  Hypothesis HE : 1 <= E.
  Hypothesis Hd : 0 <= d <= 1.

  (** T k = P(X > k), k >= 0 *)
  Fixpoint T (k : nat) : R :=
    match k with O => (1 - d) / (E + 1) | Datatypes.S k => Rmax 0 ((T k - d) / E) end.
  (** the atoms: p 0 = P(X = 0), p j = P(X = j) = P(X = -j) *)
  Definition p (j : nat) : R := match j with O => 1 - 2 * T 0 | Datatypes.S i => T i - T j end.
  (** the law on the integers *)
  Definition geo (z : Z) : R := p (Z.abs_nat z).

  Lemma T_O : T 0 = (1 - d) / (E + 1). Proof. reflexivity. Qed.
  Lemma T_S k : T (Datatypes.S k) = Rmax 0 ((T k - d) / E). Proof. reflexivity. Qed.
  Opaque T.
  Lemma T0 : (E + 1) * T 0 = 1 - d.
  Proof. rewrite T_O. field. lra. Qed.
  Lemma T_step k : E * T (Datatypes.S k) = Rmax 0 (T k - d).
  Proof.
    rewrite T_S. unfold Rmax. destruct (Rle_dec 0 ((T k - d) / E)) as [h|h]; destruct (Rle_dec 0 (T k - d)) as [g|g].
    - field; lra.
    - exfalso. apply g. assert (T k - d = E * ((T k - d) / E)) by (field; lra). nra.
    - exfalso. apply h. apply Rle_mult_inv_pos; lra.
    - lra.
  Qed.
  Lemma T_nonneg k : 0 <= T k.
  Proof.
    destruct k as [|k]; [rewrite T_O; apply Rle_mult_inv_pos; lra|]. rewrite T_S. apply Rmax_l.
  Qed.
  Lemma T_dec k : T (Datatypes.S k) <= T k.
  Proof.
    pose proof (T_step k). pose proof (T_nonneg k). pose proof (T_nonneg (Datatypes.S k)).
    unfold Rmax in H. destruct (Rle_dec 0 (T k - d)); nra.
  Qed.
  Lemma T_half k : 2 * T k <= 1.
  Proof.
    induction k as [|k IH]; [pose proof T0; pose proof (T_nonneg 0); nra|]. pose proof (T_dec k). lra.
  Qed.
  Lemma p_nonneg j : 0 <= p j.
  Proof. destruct j as [|j]; simpl; [pose proof (T_half 0); simpl in *; lra|]. pose proof (T_dec j). simpl in *. lra. Qed.

  (** D k = P(X > k-1) - E P(X > k) = min (P(X > k-1), delta), falling from delta *)
  Definition tl (k : nat) : R := match k with O => 1 - T 0 | Datatypes.S k => T k end.
  Definition D (k : nat) : R := tl k - E * T k.
  Lemma D_0 : D 0 = d.
  Proof. unfold D. simpl tl. pose proof T0. lra. Qed.
  Lemma D_S k : D (Datatypes.S k) = Rmin (T k) d.
  Proof.
    unfold D. simpl tl. rewrite T_step. unfold Rmax, Rmin.
    destruct (Rle_dec 0 (T k - d)); destruct (Rle_dec (T k) d); lra.
  Qed.
  Lemma D_range k : 0 <= D k <= d.
  Proof.
    destruct k as [|k]; [rewrite D_0; lra|]. rewrite D_S. pose proof (T_nonneg k).
    unfold Rmin. destruct (Rle_dec (T k) d); lra.
  Qed.
  Lemma D_dec k : D (Datatypes.S k) <= D k.
  Proof.
    destruct k as [|k]; [rewrite D_0; apply D_range|]. rewrite !D_S.
    pose proof (T_dec k). unfold Rmin. repeat destruct (Rle_dec _ _); lra.
  Qed.

  Lemma p_tl j : p j = tl j - T j.
  Proof. destruct j; simpl; lra. Qed.
  (** towards the centre: the excess telescopes *)
  Lemma excess_in j : p j - E * p (Datatypes.S j) = D j - D (Datatypes.S j).
  Proof. rewrite !p_tl. unfold D. simpl tl. lra. Qed.
  (** away from the centre: no excess *)
  Lemma excess_out j : p (Datatypes.S j) <= E * p j.
  Proof.
    pose proof (excess_in j) as X. pose proof (D_dec j). pose proof (p_nonneg (Datatypes.S j)).
    assert (p (Datatypes.S j) <= E * p (Datatypes.S j)) by nra.
    assert (p (Datatypes.S j) <= p j) by lra. pose proof (p_nonneg j). nra.
  Qed.

  (** finite sums over sets of integers *)
  Lemma sum_sub {A} (f : A -> R) (l l' : list A) : (forall a, 0 <= f a) -> NoDup l -> incl l l' ->
    sum f l <= sum f l'.
  Proof.
    intros Hf. revert l'. induction l as [|a l IH]; intros l' ND Hi; [simpl; apply sum_nonneg; auto|].
    assert (In a l') by (apply Hi; left; auto). apply in_split in H. destruct H as (u & v & ->).
    inversion ND; subst.
    assert (incl l (u ++ v)).
    { intros b Hb. assert (K : In b (u ++ a :: v)) by (apply Hi; right; auto).
      rewrite in_app_iff in *. simpl in K. destruct K as [K|[K|K]]; auto. subst. tauto. }
    specialize (IH (u ++ v) H2 H). rewrite sum_app in *. simpl. lra.
  Qed.

  Definition up (z : Z) : R := Rmax 0 (geo (z + 1) - E * geo z).
  Definition neg_window (n : nat) : list Z := map (fun j => (- Z.of_nat (Datatypes.S j))%Z) (seq 0 n).

  Lemma up_window n : sum up (neg_window n) = d - D n.
  Proof.
    unfold neg_window. induction n as [|n IH]; [simpl; rewrite D_0; lra|].
    rewrite seq_S, map_app, sum_app, IH. cbn [map sum].
    replace (0 + n)%nat with n by lia. unfold up, geo.
    replace (Z.abs_nat (- Z.of_nat (Datatypes.S n) + 1)) with n by lia.
    replace (Z.abs_nat (- Z.of_nat (Datatypes.S n))) with (Datatypes.S n) by lia.
    rewrite excess_in. pose proof (D_dec n). unfold Rmax. destruct (Rle_dec _ _); lra.
  Qed.

  Lemma up_right z : (0 <= z)%Z -> up z = 0.
  Proof.
    intros Hz. unfold up, geo. replace (Z.abs_nat (z + 1)) with (Datatypes.S (Z.abs_nat z)) by lia.
    pose proof (excess_out (Z.abs_nat z)). unfold Rmax. destruct (Rle_dec _ _); lra.
  Qed.

  Lemma up_total l : NoDup l -> sum up l <= d.
  Proof.
    intros ND.
    assert (Hup : forall z, 0 <= up z) by (intros z; apply Rmax_l).
    set (neg := filter (fun z => (z <? 0)%Z) l).
    assert (S1 : sum up l = sum up neg).
    { unfold neg. clear ND neg. induction l as [|z l IH]; simpl; auto.
      destruct (z <? 0)%Z eqn:Hz; simpl; rewrite IH; auto.
      apply Z.ltb_ge in Hz. rewrite up_right; auto. lra. }
    set (N := fold_right Nat.max 0%nat (map Z.abs_nat l)).
    assert (HN : forall z, In z l -> (Z.abs_nat z <= N)%nat).
    { unfold N. clear. induction l as [|a l IH]; simpl; [tauto|]. intros z [->|H]; [lia|].
      specialize (IH z H). lia. }
    assert (S2 : sum up neg <= sum up (neg_window N)).
    { apply sum_sub; auto; [now apply NoDup_filter|].
      intros z Hz. apply filter_In in Hz. destruct Hz as [Hz Hn]. apply Z.ltb_lt in Hn.
      specialize (HN z Hz). unfold neg_window. apply in_map_iff.
      exists (Nat.pred (Z.abs_nat z)). split; [lia|]. apply in_seq. lia. }
    rewrite up_window in S2. pose proof (D_range N). lra.
  Qed.

  (** proven.md section 14: the (cut) geometric law is (epsilon, delta)-DP.
      For every finite set [l] of answers; a count y has the law z |-> geo (z - y). *)
  Theorem counts_private : forall l y y', NoDup l -> (Z.abs (y - y') <= 1)%Z ->
    sum (fun z => geo (z - y)) l <= E * sum (fun z => geo (z - y')) l + d.
  Proof.
    assert (up1 : forall l, NoDup l -> sum (fun z => geo (z + 1)) l <= E * sum geo l + d).
    { intros l ND. pose proof (up_total l ND).
      assert (sum (fun z => geo (z + 1)) l - E * sum geo l <= sum up l); [|lra].
      clear. induction l as [|z l IH]; simpl; [lra|].
      assert (geo (z + 1) - E * geo z <= up z) by apply Rmax_r. lra. }
    assert (mp : forall (f : Z -> Z) g l, sum g (map f l) = sum (fun z => g (f z)) l).
    { induction l; simpl; auto. now rewrite IHl. }
    assert (nd : forall (f : Z -> Z) l, (forall a b, f a = f b -> a = b) -> NoDup l -> NoDup (map f l)).
    { intros. now apply FinFun.Injective_map_NoDup. }
    assert (geo_opp : forall z, geo (- z) = geo z) by (intros z; unfold geo; f_equal; lia).
    intros l y y' ND Hy.
    assert (C : (y' = y \/ y' = y + 1 \/ y = y' + 1)%Z) by lia. destruct C as [ -> | [ -> | -> ] ].
    - assert (0 <= sum (fun z => geo (z - y)) l) by (apply sum_nonneg; intros; apply p_nonneg). nra.
    - specialize (up1 (map (fun z => z - y - 1)%Z l)). rewrite !mp in up1.
      assert (X : NoDup (map (fun z => (z - y - 1)%Z) l)) by (apply nd; auto; intros; lia).
      specialize (up1 X).
      rewrite (sum_ext _ (fun z => geo (z - y)) l) in up1 by (intros z _; f_equal; lia).
      rewrite (sum_ext (fun z => geo (z - y - 1)) (fun z => geo (z - (y + 1))) l) in up1
        by (intros z _; f_equal; lia). auto.
    - specialize (up1 (map (fun z => y' - z)%Z l)). rewrite !mp in up1.
      assert (X : NoDup (map (fun z => (y' - z)%Z) l)) by (apply nd; auto; intros; lia).
      specialize (up1 X).
      rewrite (sum_ext _ (fun z => geo (z - (y' + 1))) l) in up1
        by (intros z _; rewrite <- geo_opp; f_equal; lia).
      rewrite (sum_ext (fun z => geo (y' - z)) (fun z => geo (z - y')) l) in up1
        by (intros z _; rewrite <- geo_opp; f_equal; lia). auto.
  Qed.

  (** the law has mass 1 - 2 T n on -n..n, and T n -> 0; with delta > 0 it ends *)
  Lemma mass n : p 0 + 2 * sum p (seq 1 n) = 1 - 2 * T n.
  Proof.
    induction n as [|n IH]; [simpl; lra|]. rewrite seq_S, sum_app. cbn [sum].
    replace (1 + n)%nat with (Datatypes.S n) by lia. rewrite (p_tl (Datatypes.S n)). cbn [tl]. lra.
  Qed.

  Lemma T_falls e n : 0 < e -> e <= T n -> INR n * ((E - 1) * e + d) <= T 0 - T n.
  Proof.
    intros He. induction n as [|n IH]; intros Hn; [simpl; lra|].
    pose proof (T_dec n). pose proof (T_step n) as Hstep. rewrite S_INR.
    assert (E * T (Datatypes.S n) = T n - d) by (destruct (Rle_dec 0 (T n - d));
      [rewrite Rmax_right in Hstep by lra; lra | rewrite Rmax_left in Hstep by lra; nra]).
    specialize (IH ltac:(lra)). nra.
  Qed.

  (** proven.md section 14: the noise is a law: where epsilon or delta is above 0, its probabilities add up to one. *)
  Theorem counts_mass : 1 < E \/ 0 < d -> forall e, 0 < e -> exists n, forall m, (n <= m)%nat ->
    1 - e < p 0 + 2 * sum p (seq 1 m) <= 1.
  Proof.
    intros Hpos e He. destruct (arch ((E - 1) * (e / 4) + d) (T 0)) as [n Hn]; [destruct Hpos; nra|].
    exists n. intros m Hm. rewrite mass. pose proof (T_nonneg m). split; [|lra].
    assert (Hfar : T m < e / 4).
    { destruct (Rlt_le_dec (T m) (e / 4)) as [|Hbig]; [assumption|]. exfalso.
      pose proof (T_falls (e / 4) m ltac:(lra) Hbig). apply le_INR in Hm.
      assert (0 <= (E - 1) * (e / 4) + d) by nra. nra. }
    lra.
  Qed.

  (** ** The lower bound *)
  (** finitely additive probabilities on the integers suffice *)
  Record prob (mu : (Z -> Prop) -> R) : Prop := {
    mu_nonneg : forall S, 0 <= mu S;
    mu_le1 : forall S, mu S <= 1;
    mu_compl : forall S S', (forall z, S z <-> ~ S' z) -> mu S = 1 - mu S';
    mu_or : forall S S' U, (forall z, ~ (S z /\ S' z)) -> (forall z, U z <-> S z \/ S' z) -> mu U = mu S + mu S' }.

  Variable G : R -> R.
  Hypothesis HG : tradeoff G.
  Variable mu : Z -> (Z -> Prop) -> R.
  Hypothesis mu_prob : forall y, prob (mu y).
  Hypothesis mu_dp : forall y S, mu y S <= G (mu (y + 1)%Z S) /\ mu (y + 1)%Z S <= G (mu y S).

  Lemma far y n S : mu (y + Z.of_nat n)%Z S <= iter G n (mu y S).
  Proof.
    induction n as [|n IH].
    - simpl. rewrite Z.add_0_r. lra.
    - cbn [iter]. destruct (mu_dp (y + Z.of_nat n)%Z S) as [_ H].
      replace (y + Z.of_nat n + 1)%Z with (y + Z.of_nat (Datatypes.S n))%Z in H by lia.
      pose proof (mu_nonneg _ (mu_prob y) S). pose proof (mu_le1 _ (mu_prob y) S).
      pose proof (tr_ge _ (iter_tradeoff G n HG) (mu y S) ltac:(lra)).
      eapply Rle_trans; [exact H|]. apply (tr_mono G HG); try lra.
      apply mu_nonneg. apply mu_prob.
  Qed.

  Lemma balanced n a b c : 0 <= a <= 1 -> 0 <= b <= 1 -> 0 <= c <= 1 ->
    1 - b <= iter G n a -> iter G n c = 1 - c -> 2 * c <= a + b.
  Proof.
    intros Ha Hb Hc H Hf. pose proof (iter_tradeoff G n HG) as I.
    assert (H' : 1 - a <= iter G n b).
    { pose proof (tr_sym _ I (1 - b) a ltac:(lra) Ha H) as K.
      now replace (1 - (1 - b)) with b in K by lra. }
    pose proof (tr_conc _ I a b (1 / 2) Ha Hb ltac:(lra)) as C.
    destruct (Rle_dec (2 * c) (a + b)) as [|n0]; auto. exfalso.
    pose proof (tr_mono _ I (1 / 2 * a + (1 - 1 / 2) * b) c ltac:(lra) ltac:(lra) ltac:(lra)). lra.
  Qed.

  (** proven.md section 14: no private mechanism has a smaller worst-case tail, for any symmetric trade-off function. *)
  Theorem counts_lower_bound k a err :
    0 <= a <= 1 -> iter G (2 * k + 1) a = 1 - a ->
    (forall y, mu y (fun z => Z.abs (z - y) > Z.of_nat k)%Z <= err) -> 2 * a <= err.
  Proof.
    intros Ha Hfix Herr. set (n := (2 * k + 1)%nat) in *.
    set (hi := fun y => mu y (fun z => z > y + Z.of_nat k)%Z).
    set (lo := fun y => mu y (fun z => z < y - Z.of_nat k)%Z).
    assert (S1 : forall y, hi y + lo y <= err).
    { intros y. eapply Rle_trans; [|apply (Herr y)]. right. symmetry.
      apply (mu_or _ (mu_prob y)); intros z; lia. }
    assert (S2 : forall y, 2 * a <= hi y + lo (y + Z.of_nat n)%Z).
    { intros y. apply (balanced n); auto.
      - split; [apply (mu_nonneg _ (mu_prob y))|apply (mu_le1 _ (mu_prob y))].
      - split; [apply (mu_nonneg _ (mu_prob _))|apply (mu_le1 _ (mu_prob _))].
      - unfold hi, lo.
        rewrite <- (mu_compl _ (mu_prob (y + Z.of_nat n)%Z) (fun z => z > y + Z.of_nat k)%Z).
        + apply far.
        + intros z. unfold n. lia. }
    assert (pos : forall y, 0 <= hi y /\ 0 <= lo y).
    { intros y. split; apply (mu_nonneg _ (mu_prob y)). }
    assert (run : forall N, INR N * (2 * a) + lo 0%Z + hi (Z.of_nat (N * n)) <= INR (Datatypes.S N) * err).
    { induction N as [|N IH].
      - simpl. pose proof (S1 0%Z). lra.
      - rewrite !S_INR in *. pose proof (S1 (Z.of_nat (Datatypes.S N * n))).
        pose proof (S2 (Z.of_nat (N * n))) as Q.
        replace (Z.of_nat (N * n) + Z.of_nat n)%Z with (Z.of_nat (Datatypes.S N * n)) in Q by lia. lra. }
    destruct (Rle_dec (2 * a) err) as [|Hn]; auto. exfalso.
    assert (Hg : 0 < 2 * a - err) by lra.
    destruct (arch (2 * a - err) err Hg) as [N HN].
    specialize (run N). rewrite S_INR in run. pose proof (pos 0%Z). pose proof (pos (Z.of_nat (N * n))). lra.
  Qed.
End CutGeometric.

(** ** The cut geometric attains it, for every k at once *)
Section Attained.
  Variables E d : R.
  Hypothesis HE : 1 <= E.
  Hypothesis Hd : 0 <= d <= 1.
  Notation T := (T E d).

  Lemma F_down k : 0 < T (Datatypes.S k) -> F E d (T (Datatypes.S k)) = T k.
  Proof.
    intros H. pose proof (T_step E d HE k) as S. pose proof (T_half E d HE Hd k).
    pose proof (T_nonneg E d HE Hd k).
    assert (e : E * T (Datatypes.S k) = T k - d).
    { rewrite S. unfold Rmax in *. destruct (Rle_dec 0 (T k - d)); nra. }
    apply Rle_antisym; [pose proof (F_ub E d HE (T (Datatypes.S k))); lra|].
    apply F_spec; auto.
    assert (T0' : (E + 1) * T 0 = 1 - d) by (apply T0; auto).
    assert (mono : T k <= T 0).
    { clear - HE Hd. induction k; [lra|]. pose proof (T_dec E d HE Hd k). lra. }
    assert (M1 : (E + 1) * T k <= 1 - d) by nra.
    assert (M2 : 0 <= (E - 1) * (E + d - (E + 1) * T k)) by (apply Rmult_le_pos; lra).
    assert (M3 : 0 <= E * (T (Datatypes.S k) - (1 - d - E + E * T k))) by nra.
    assert (M4 : 0 <= T (Datatypes.S k) - (1 - d - E + E * T k)).
    { apply Rmult_le_reg_l with E; lra. }
    lra.
  Qed.
  Lemma F_centre : F E d (T 0) = 1 - T 0.
  Proof.
    pose proof (T0 E d HE). pose proof (T_nonneg E d HE Hd 0).
    apply Rle_antisym; [pose proof (F_ub E d HE (T 0)); lra|]. apply F_spec; auto. nra.
  Qed.
  Lemma F_up k : F E d (1 - T k) = 1 - T (Datatypes.S k).
  Proof.
    pose proof (T_step E d HE k) as S. pose proof (T_nonneg E d HE Hd (Datatypes.S k)).
    pose proof (T_half E d HE Hd k). pose proof (T_nonneg E d HE Hd k).
    apply Rle_antisym.
    - pose proof (F_ub E d HE (1 - T k)) as (U1 & _ & U3).
      assert (T (Datatypes.S k) <= 1 - F E d (1 - T k)); [|lra].
      apply Rmult_le_reg_l with E; [lra|]. rewrite S. unfold Rmax. destruct (Rle_dec 0 (T k - d)); nra.
    - apply F_spec; auto. pose proof (T_dec E d HE Hd k).
      assert (0 <= (E - 1) * (1 - T k - T (Datatypes.S k))) by (apply Rmult_le_pos; lra).
      unfold Rmax in S. destruct (Rle_dec 0 (T k - d)); repeat split; nra.
  Qed.

  Lemma fixed k : 0 < T k -> iter (F E d) (2 * k + 1) (T k) = 1 - T k.
  Proof.
    induction k as [|k IH]; intros H.
    - simpl. apply F_centre.
    - replace (2 * Datatypes.S k + 1)%nat with (Datatypes.S (Datatypes.S (2 * k + 1))) by lia.
      cbn [iter]. rewrite <- iter_comm, F_down by auto. rewrite IH; [apply F_up|].
      pose proof (T_dec E d HE Hd k). lra.
  Qed.

  (** proven.md section 14: P(|X| > k) = 2 T k, and every (epsilon, delta)-DP mechanism has at least this somewhere. *)
  Theorem counts_optimal (mu : Z -> (Z -> Prop) -> R) : (forall y, prob (mu y)) ->
    (forall y S, mu y S <= E * mu (y + 1)%Z S + d /\ mu (y + 1)%Z S <= E * mu y S + d) ->
    forall k err, (forall y, mu y (fun z => Z.abs (z - y) > Z.of_nat k)%Z <= err) -> 2 * T k <= err.
  Proof.
    intros HP HD k err Herr. pose proof (T_nonneg E d HE Hd k) as N.
    destruct (Req_dec (T k) 0) as [Z0|Z0].
    { rewrite Z0. specialize (Herr 0%Z). pose proof (mu_nonneg _ (HP 0%Z) (fun z => Z.abs (z - 0) > Z.of_nat k)%Z). lra. }
    apply (counts_lower_bound (F E d) (F_is_tradeoff E d HE Hd) mu HP) with k; auto.
    - intros y S.
      assert (C : mu y S = 1 - mu y (fun z => ~ S z)).
      { apply (mu_compl _ (HP y)). intros z. split; [tauto|]. intros K. apply Classical_Prop.NNPP. auto. }
      assert (C' : mu (y + 1)%Z S = 1 - mu (y + 1)%Z (fun z => ~ S z)).
      { apply (mu_compl _ (HP (y + 1)%Z)). intros z. split; [tauto|]. intros K. apply Classical_Prop.NNPP. auto. }
      pose proof (HD y S). pose proof (HD y (fun z => ~ S z)) as Hc.
      replace (mu y (fun z => ~ S z)) with (1 - mu y S) in Hc by lra.
      replace (mu (y + 1)%Z (fun z => ~ S z)) with (1 - mu (y + 1)%Z S) in Hc by lra.
      pose proof (mu_le1 _ (HP y) S). pose proof (mu_le1 _ (HP (y + 1)%Z) S).
      split; apply F_spec; auto; lra.
    - pose proof (T_half E d HE Hd k). lra.
    - apply fixed. lra.
  Qed.
End Attained.
