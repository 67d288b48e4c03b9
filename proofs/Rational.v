(** The theorems' own functions on rationals.

    At rational levels the functions of the proofs can be evaluated. Each function on rationals is proven
    equal to the real function of the privacy proofs, so a number that the software computed becomes a
    theorem once `vm_compute` confirms it. proofs/Computed.v holds such numbers. *)
Require Import Reals QArith Qreals Qminmax Lra Lia List Bool ZArith.
Require Import DP.StepFunction DP.Raising DP.OneLevel DP.Counts DP.Crossing DP.Quantile DP.Mean DP.Staircase DP.Votes.
Require Import Sorted.
Import ListNotations.

Definition minQ (a b : Q) : Q := if Qle_bool a b then a else b.
Definition maxQ (a b : Q) : Q := if Qle_bool a b then b else a.
Definition FQ (E d s : Q) : Q :=
  Qred (minQ 1 (minQ (E * s + d) (1 - (1 - s - d) / E)))%Q.
Fixpoint iterQ (E d : Q) (n : nat) (s : Q) : Q := match n with O => s | S n => FQ E d (iterQ E d n s) end.
Fixpoint TQ (E d : Q) (k : nat) : Q :=
  match k with O => Qred ((1 - d) / (E + 1)) | S k => Qred (maxQ 0 ((TQ E d k - d) / E)) end%Q.

Open Scope R_scope.
Lemma Q2R_0' : Q2R 0 = 0. Proof. unfold Q2R; simpl; lra. Qed.
Lemma Q2R_1' : Q2R 1 = 1. Proof. unfold Q2R; simpl; lra. Qed.
Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR. apply Qred_correct. Qed.
Lemma Q2R_min a b : Q2R (minQ a b) = Rmin (Q2R a) (Q2R b).
Proof.
  unfold minQ, Rmin. destruct (Qle_bool a b) eqn:e; destruct (Rle_dec _ _) as [r|r]; auto.
  - apply Qle_bool_iff in e. apply Qle_Rle in e. tauto.
  - apply Rle_Qle in r. apply Qle_bool_iff in r. congruence.
Qed.
Lemma Q2R_max a b : Q2R (maxQ a b) = Rmax (Q2R a) (Q2R b).
Proof.
  unfold maxQ, Rmax. destruct (Qle_bool a b) eqn:e; destruct (Rle_dec _ _) as [r|r]; auto.
  - apply Qle_bool_iff in e. apply Qle_Rle in e. tauto.
  - apply Rle_Qle in r. apply Qle_bool_iff in r. congruence.
Qed.
Lemma Q2R_nz E : 1 <= Q2R E -> ~ (E == 0)%Q.
Proof. intros H e. apply Qeq_eqR in e. rewrite e, Q2R_0' in H. lra. Qed.

Lemma FQ_F E d s : 1 <= Q2R E -> Q2R (FQ E d s) = F (Q2R E) (Q2R d) (Q2R s).
Proof.
  intros HE. pose proof (Q2R_nz E HE). unfold FQ, F.
  rewrite Q2R_red, !Q2R_min, Q2R_plus, Q2R_mult, Q2R_minus, Q2R_div, !Q2R_minus, Q2R_1' by auto. reflexivity.
Qed.
Lemma iterQ_iter E d n s : 1 <= Q2R E -> Q2R (iterQ E d n s) = iter (F (Q2R E) (Q2R d)) n (Q2R s).
Proof. intros HE. induction n as [|n IH]; simpl; auto. rewrite FQ_F, IH; auto. Qed.
Lemma TQ_T E d k : 1 <= Q2R E -> Q2R (TQ E d k) = T (Q2R E) (Q2R d) k.
Proof.
  intros HE. pose proof (Q2R_nz E HE). induction k as [|k IH].
  - cbn [TQ]. rewrite T_O, Q2R_red, Q2R_div, Q2R_minus, Q2R_plus, Q2R_1'; [reflexivity|].
    intros e. apply Qeq_eqR in e. rewrite Q2R_plus, Q2R_1', Q2R_0' in e. lra.
  - cbn [TQ]. rewrite T_S, Q2R_red, Q2R_max, Q2R_div, Q2R_minus, IH, Q2R_0' by auto. reflexivity.
Qed.

Definition ok (E val got : Q) : bool := Qle_bool 1 E && Qeq_bool got val.
Lemma ok_spec E val got : ok E val got = true -> 1 <= Q2R E /\ Q2R got = Q2R val.
Proof.
  unfold ok. rewrite andb_true_iff. intros [H1 H2]. split.
  - apply Qle_bool_iff in H1. apply Qle_Rle in H1. now rewrite Q2R_1' in H1.
  - apply Qeq_eqR. now apply Qeq_bool_iff.
Qed.
Theorem check_steps E d t s val : ok E val (iterQ E d t s) = true ->
  iter (F (Q2R E) (Q2R d)) t (Q2R s) = Q2R val.
Proof. intros H. apply ok_spec in H. destruct H. rewrite <- iterQ_iter; auto. Qed.
Theorem check_tail E d k val : ok E val (TQ E d k) = true -> T (Q2R E) (Q2R d) k = Q2R val.
Proof. intros H. apply ok_spec in H. destruct H. rewrite <- TQ_T; auto. Qed.

(** ** A crossing whose weights are powers of one rational s *)
Close Scope R_scope.
Section CrossingQ.
  Variable N : nat.
  Variable s : Q.
  Variable m : nat -> Q.
  (** the exponents: the weights are l t = m_t s^(- zl t) and r t = m_(t+1) s^(zr t) *)
  Variables zl zr : nat -> Z.
  Fixpoint powN (q : Q) (n : nat) : Q := match n with O => 1 | S n => Qred (q * powN q n) end%Q.
  Definition powQ (q : Q) (z : Z) : Q :=
    match z with Z0 => 1 | Zpos p => powN q (Pos.to_nat p) | Zneg p => / powN q (Pos.to_nat p) end.
  Fixpoint sumQ {A} (f : A -> Q) (l : list A) : Q := match l with [] => 0 | a :: r => Qred (f a + sumQ f r) end%Q.
  Definition lQ t := (m t * powQ s (- zl t))%Q.
  Definition rQ t := (m (S t) * powQ s (zr t))%Q.
  Definition rhoQ t := Qred (sumQ lQ (seq 0 (S t)) / sumQ rQ (seq t (N - t))).
  Definition linkQ (x : Q) : Q := if Qle_bool x 1 then (x / (2#1))%Q else (1 - / ((2#1) * x))%Q.
  Definition cdfQ t := linkQ (rhoQ t).
  Definition binQ j : Q := match j with
    | O => cdfQ 0
    | S a => if le_lt_dec N j then (1 - cdfQ a)%Q else (cdfQ j - cdfQ a)%Q end.

  Hypothesis HN : (1 <= N)%nat.
  Hypothesis Hs : (0 < Q2R s)%R.
  Hypothesis Hm : forall t, (0 < Q2R (m t))%R.
  Open Scope R_scope.
  Definition lR t := Q2R (m t) * exp (- IZR (zl t) * ln (Q2R s)).
  Definition rR t := Q2R (m (S t)) * exp (IZR (zr t) * ln (Q2R s)).

  Lemma powN_pow q n : Q2R (powN q n) = Q2R q ^ n.
  Proof.
    induction n as [|n IH]; cbn [powN pow]; [apply Q2R_1'|]. rewrite Q2R_red, Q2R_mult, IH. auto.
  Qed.
  Lemma powQ_exp z : Q2R (powQ s z) = exp (IZR z * ln (Q2R s)).
  Proof.
    assert (E : forall n, Q2R s ^ n = exp (INR n * ln (Q2R s))).
    { induction n as [|n IH]; [simpl; rewrite Rmult_0_l, exp_0; auto|].
      rewrite S_INR, Rmult_plus_distr_r, exp_plus, <- IH, Rmult_1_l, exp_ln by auto. simpl. ring. }
    destruct z as [|p|p]; unfold powQ.
    - rewrite Rmult_0_l, exp_0. apply Q2R_1'.
    - rewrite powN_pow, E. rewrite INR_IZR_INZ, positive_nat_Z. reflexivity.
    - rewrite Q2R_inv.
      + rewrite powN_pow, E, <- exp_Ropp, INR_IZR_INZ, positive_nat_Z. f_equal.
        change (Zneg p) with (- Zpos p)%Z. rewrite opp_IZR. ring.
      + intros e. apply Qeq_eqR in e. rewrite powN_pow, E, Q2R_0' in e.
        pose proof (exp_pos (INR (Pos.to_nat p) * ln (Q2R s))). lra.
  Qed.
  Lemma sumQ_sum {A} (f : A -> Q) l : Q2R (sumQ f l) = sum (fun t => Q2R (f t)) l.
  Proof. induction l as [|a l IH]; cbn [sumQ sum]; [apply Q2R_0'|]. rewrite Q2R_red, Q2R_plus, IH. auto. Qed.
  Lemma lQ_lR t : Q2R (lQ t) = lR t.
  Proof. unfold lQ, lR. rewrite Q2R_mult, powQ_exp, opp_IZR. reflexivity. Qed.
  Lemma rQ_rR t : Q2R (rQ t) = rR t.
  Proof. unfold rQ, rR. rewrite Q2R_mult, powQ_exp. reflexivity. Qed.
  Lemma lR_pos t : 0 < lR t.
  Proof. apply Rmult_lt_0_compat; [apply Hm|apply exp_pos]. Qed.
  Lemma rR_pos t : 0 < rR t.
  Proof. apply Rmult_lt_0_compat; [apply Hm|apply exp_pos]. Qed.
  Lemma rhoQ_rho t : (t < N)%nat -> Q2R (rhoQ t) = rho N lR rR t.
  Proof.
    intros Ht. unfold rhoQ, rho. rewrite Q2R_red.
    assert (X : Q2R (sumQ rQ (seq t (N - t))) = Rt N rR t).
    { rewrite sumQ_sum. apply sum_ext. intros. apply rQ_rR. }
    rewrite Q2R_div.
    - rewrite X, sumQ_sum. f_equal. apply sum_ext. intros. apply lQ_lR.
    - intros e. apply Qeq_eqR in e. rewrite X, Q2R_0' in e.
      pose proof (Rt_pos N HN rR t (fun i _ => rR_pos i) Ht). lra.
  Qed.
  Lemma linkQ_link x : 0 < Q2R x -> Q2R (linkQ x) = link (Q2R x).
  Proof.
    intros Hx. unfold linkQ, link. destruct (Qle_bool x 1) eqn:e; destruct (Rle_dec _ _) as [r|r].
    - rewrite Q2R_div by discriminate. f_equal. unfold Q2R; simpl; lra.
    - apply Qle_bool_iff, Qle_Rle in e. rewrite Q2R_1' in e. tauto.
    - rewrite <- Q2R_1' in r. apply Rle_Qle, Qle_bool_iff in r. congruence.
    - rewrite Q2R_minus, Q2R_1', Q2R_inv, Q2R_mult.
      + replace (Q2R (2#1)) with 2 by (unfold Q2R; simpl; lra). reflexivity.
      + intros k. apply Qeq_eqR in k. rewrite Q2R_mult, Q2R_0' in k.
        replace (Q2R (2#1)) with 2 in k by (unfold Q2R; simpl; lra). lra.
  Qed.
  Lemma cdfQ_cdf t : (t < N)%nat -> Q2R (cdfQ t) = cdf N lR rR t.
  Proof.
    intros Ht. unfold cdfQ, cdf. rewrite linkQ_link, rhoQ_rho; auto. rewrite rhoQ_rho by auto.
    apply Rdiv_lt_0_compat; [apply (L_pos N)|apply Rt_pos]; auto; intros; [apply lR_pos|apply rR_pos].
  Qed.
  Lemma binQ_bin j : (j <= N)%nat -> Q2R (binQ j) = bin N lR rR j.
  Proof.
    intros Hj. unfold binQ, bin. destruct j as [|a]; [apply cdfQ_cdf; lia|].
    destruct (le_lt_dec N (S a)); rewrite Q2R_minus, ?Q2R_1', !cdfQ_cdf by lia; auto.
  Qed.
End CrossingQ.

Definition positive (q : Q) : bool := negb (Qle_bool q 0).
Lemma positive_spec q : positive q = true -> (0 < Q2R q)%R.
Proof.
  unfold positive. rewrite negb_true_iff. intros H. rewrite <- Q2R_0'. apply Qlt_Rlt.
  apply Qnot_le_lt. intros K. apply Qle_bool_iff in K. congruence.
Qed.
Definition weight (w : list Q) (t : nat) : Q := nth t w 1%Q.
Lemma weight_positive w : forallb positive w = true -> forall t, (0 < Q2R (weight w t))%R.
Proof.
  intros H t. unfold weight. revert t. induction w as [|a w IH]; intros [|t]; simpl in *;
    try (rewrite Q2R_1'; lra); apply andb_true_iff in H; destruct H as [H1 H2].
  - now apply positive_spec.
  - now apply IH.
Qed.
(** the answers have the probabilities that are listed *)
Definition law_ok N s w zl zr probs : bool :=
  (1 <=? N)%nat && (length probs =? S N)%nat && positive s && forallb positive w &&
  forallb (fun j => Qeq_bool (binQ N s (weight w) zl zr j) (nth j probs 0%Q)) (seq 0 (S N)).
Lemma law_ok_spec N s w zl zr probs : law_ok N s w zl zr probs = true -> forall j, (j <= N)%nat ->
  bin N (lR s (weight w) zl) (rR s (weight w) zr) j = Q2R (nth j probs 0%Q).
Proof.
  unfold law_ok. rewrite !andb_true_iff. intros [[[[H1 H2] H3] H4] H5] j Hj. apply Nat.leb_le in H1.
  rewrite forallb_forall in H5. specialize (H5 j ltac:(apply in_seq; lia)).
  apply Qeq_bool_iff, Qeq_eqR in H5. rewrite <- H5. symmetry.
  apply binQ_bin; auto using weight_positive, positive_spec.
Qed.

(** *** The smoothed rank, e^(-epsilon/2) = s *)
(** a table with given counts *)
Fixpoint table (b : nat) (counts : list nat) : list (option nat) :=
  match counts with [] => [] | c :: r => repeat (Some b) c ++ table (S b) r end.
Definition rank_ok qn qd s (w : list Q) counts probs : bool :=
  let cuts := acut qn qd (table 0 counts) in
  law_ok (length counts - 1) s w cuts (fun t => cuts t + 1)%Z probs.
(** every bin of this table has the probability that is listed *)
Definition smoothed_rank_is qn qd s (w : list Q) counts probs : Prop := forall j, (j <= length counts - 1)%nat ->
  smoothed_rank qn qd (length counts - 1) (- 2 * ln (Q2R s))%R (fun t => Q2R (weight w t)) (table 0 counts) j
  = Q2R (nth j probs 0%Q).
Theorem check_rank qn qd s w counts probs : rank_ok qn qd s w counts probs = true ->
  smoothed_rank_is qn qd s w counts probs.
Proof.
  intros H j Hj. rewrite <- (law_ok_spec _ _ _ _ _ _ H j Hj). unfold smoothed_rank. apply Mean.bin_ext; intros t.
  - unfold wl, lR. f_equal. f_equal. lra.
  - unfold wr, rR. rewrite plus_IZR. f_equal. f_equal. lra.
Qed.

(** *** The mean by the smoothed crossing: heights are whole multiples of 1/h, and e^(-epsilon/(2h)) = s *)
Definition valueR (v : option Q) : option R := option_map Q2R v.
Definition heightQ (w tau : Q) (D : list (option Q)) : Q :=
  sumQ (fun r => match r with Some v => (tau - v) / w | None => 0 end)%Q D.
Definition wholeQ (h : Q) (a : Q) : Z := Qnum (Qred (h * a)).
Definition mean_ok (replaced : bool) lo hi (taus : list Q) h s (D : list (option Q)) probs : bool :=
  let tau t := nth t taus 0%Q in
  let w t := if replaced then (hi - lo)%Q else maxQ (hi - tau t)%Q (tau t - lo)%Q in
  let height t := heightQ (w t) (tau t) D in
  let z t := wholeQ h (height t) in
  let N := length taus in
  negb (Qle_bool hi lo) && positive h &&
  forallb (fun t => positive (w t) && Qeq_bool (h * height t) (inject_Z (z t))) (seq 0 N) &&
  law_ok N s [] z z probs.
Definition mean_is (replaced : bool) lo hi (taus : list Q) h s (D : list (option Q)) probs : Prop :=
  let tau t := Q2R (nth t taus 0%Q) in
  let w := if replaced then wsub (Q2R lo) (Q2R hi) else war (Q2R lo) (Q2R hi) tau in
  forall j, (j <= length taus)%nat ->
  crossing (length taus) (- 2 * Q2R h * ln (Q2R s))%R (fun _ => 1%R) (height tau w (map valueR D)) j
  = Q2R (nth j probs 0%Q).

Open Scope R_scope.
Lemma bin_ext_below N l1 r1 l2 r2 j : (j <= N)%nat -> (1 <= N)%nat -> (forall t, (t < N)%nat -> l1 t = l2 t) ->
  (forall t, (t < N)%nat -> r1 t = r2 t) -> bin N l1 r1 j = bin N l2 r2 j.
Proof.
  intros Hj HN H1 H2. assert (X : forall t, (t < N)%nat -> rho N l1 r1 t = rho N l2 r2 t).
  { intros t Ht. unfold rho, L, Rt. rewrite (sum_ext l1 l2), (sum_ext r1 r2); auto;
      intros i Hi; apply in_seq in Hi; [apply H2|apply H1]; lia. }
  unfold bin, cdf. destruct j as [|a]; [now rewrite X by lia|].
  destruct (le_lt_dec N (S a)); rewrite !X by lia; auto.
Qed.
Lemma heightQ_height w tau D : 0 < Q2R w -> Q2R (heightQ w tau D) =
  sum (fun r => match r with Some v => (Q2R tau - v) / Q2R w | None => 0 end) (map valueR D).
Proof.
  intros Hw. assert (Z : ~ (w == 0)%Q) by (intros e; apply Qeq_eqR in e; rewrite e, Q2R_0' in Hw; lra).
  unfold heightQ. induction D as [|[v|] D IH]; cbn [sumQ map valueR option_map sum].
  - apply Q2R_0'.
  - rewrite Q2R_red, Q2R_plus, IH, Q2R_div, Q2R_minus by auto. reflexivity.
  - rewrite Q2R_red, Q2R_plus, IH, Q2R_0'. reflexivity.
Qed.
Theorem check_mean replaced lo hi taus h s D probs : mean_ok replaced lo hi taus h s D probs = true ->
  mean_is replaced lo hi taus h s D probs.
Proof.
  unfold mean_ok, mean_is. rewrite !andb_true_iff. intros [[[H1 H2] H3] H4] j Hj.
  rewrite <- (law_ok_spec _ _ _ _ _ _ H4 j Hj). unfold crossing. apply positive_spec in H2.
  assert (HN : (1 <= length taus)%nat).
  { unfold law_ok in H4. rewrite !andb_true_iff in H4. now apply Nat.leb_le. }
  rewrite forallb_forall in H3.
  assert (A : forall t, (t < length taus)%nat ->
    height (fun t => Q2R (nth t taus 0%Q)) (if replaced then wsub (Q2R lo) (Q2R hi) else war (Q2R lo) (Q2R hi) (fun t => Q2R (nth t taus 0%Q)))
      (map valueR D) t * Q2R h
    = IZR (wholeQ h (heightQ (if replaced then (hi - lo)%Q else maxQ (hi - nth t taus 0%Q)%Q (nth t taus 0%Q - lo)%Q) (nth t taus 0%Q) D))).
  { intros t Ht. specialize (H3 t ltac:(apply in_seq; lia)). apply andb_true_iff in H3. destruct H3 as [P E].
    apply positive_spec in P. apply Qeq_bool_iff, Qeq_eqR in E. rewrite Q2R_mult in E.
    assert (I : forall z, Q2R (inject_Z z) = IZR z) by (intros z; unfold Q2R, inject_Z; simpl; lra).
    rewrite I in E. rewrite <- E, heightQ_height by auto. unfold height, term.
    assert (W : (if replaced then wsub (Q2R lo) (Q2R hi) else war (Q2R lo) (Q2R hi) (fun t => Q2R (nth t taus 0%Q))) t =
      Q2R (if replaced then (hi - lo)%Q else maxQ (hi - nth t taus 0%Q)%Q (nth t taus 0%Q - lo)%Q)).
    { destruct replaced; unfold wsub, war; rewrite ?Q2R_max, !Q2R_minus; reflexivity. }
    rewrite W. ring. }
  assert (W1 : forall t, Q2R (weight [] t) = 1) by (intros [|t]; apply Q2R_1').
  apply bin_ext_below; auto; intros t Ht; specialize (A t Ht); unfold lR, rR; rewrite W1, <- A; f_equal; f_equal; lra.
Qed.

(** *** The staircase *)
Definition stairs (Delta r : Z) (b : R) : R := 2 * ((IZR r + b * IZR (Delta - r)) / (1 - b)) - 1.
Definition stairsQ (Delta r : Z) (b : Q) : Q := ((2#1) * ((inject_Z r + b * inject_Z (Delta - r)) / (1 - b)) - 1)%Q.
Definition stair_ok Delta r b i val : bool :=
  negb (Qle_bool 1 b) && positive (stairsQ Delta r b) &&
  Qeq_bool (powN b (Z.to_nat (Staircase.level Delta r i)) / stairsQ Delta r b) val.
Theorem check_stair Delta r b i val : stair_ok Delta r b i val = true ->
  Q2R b ^ Z.to_nat (Staircase.level Delta r i) / stairs Delta r (Q2R b) = Q2R val.
Proof.
  unfold stair_ok. rewrite !andb_true_iff, negb_true_iff. intros [[H1 H2] H3]. apply positive_spec in H2.
  apply Qeq_bool_iff, Qeq_eqR in H3. rewrite <- H3.
  assert (N1 : ~ (1 - b == 0)%Q).
  { intros e. assert (Qle_bool 1 b = true); [|congruence]. apply Qle_bool_iff, Rle_Qle.
    apply Qeq_eqR in e. rewrite Q2R_minus, Q2R_0' in e. lra. }
  rewrite Q2R_div, powN_pow.
  - f_equal. unfold stairs, stairsQ.
    assert (I : forall z, Q2R (inject_Z z) = IZR z) by (intros z; unfold Q2R, inject_Z; simpl; lra).
    rewrite Q2R_minus, Q2R_mult, Q2R_div, Q2R_plus, Q2R_mult, Q2R_minus, !I, Q2R_1' by auto.
    replace (Q2R (2#1)) with 2 by (unfold Q2R; simpl; lra). reflexivity.
  - intros e. apply Qeq_eqR in e. rewrite Q2R_0' in e. lra.
Qed.

(** *** The fair law: people have the levels ln r, sorted by r *)
Definition personQ (i : Q * bool) : person := {| Votes.level := ln (Q2R (fst i)); vote := snd i |}.
Definition ratiosQ (x : bool) (D : list (Q * bool)) : list Q := map fst (filter (fun i => Bool.eqb (snd i) x) D).
Fixpoint sortedQ (l : list Q) : bool := match l with a :: (b :: _) as r => Qle_bool a b && sortedQ r | _ => true end.
Fixpoint productQ (l : list Q) : Q := match l with [] => 1 | a :: r => Qred (a * productQ r) end%Q.
Definition fairQ (t : nat) (alpha : Q) (D : list (Q * bool)) : Q :=
  let y := length (ratiosQ true D) in let c := (/ (1 + / alpha))%Q in
  if le_lt_dec t y then (1 - c * / productQ (firstn (y - t + 1) (ratiosQ true D)))%Q
  else (c * / productQ (firstn (t - y) (ratiosQ false D)))%Q.
Definition fair_ok (t : nat) (D : list (Q * bool)) (val : Q) : bool :=
  let alpha := nth 0 (map fst D) 1%Q in
  (1 <=? t)%nat && (t <=? length D)%nat && forallb (fun i => Qle_bool 1 (fst i)) D && sortedQ (map fst D) &&
  Qeq_bool (fairQ t alpha D) val.
(** the table has a cost d, and with it the fair law says yes with the probability that is listed *)
Definition fair_is (t : nat) (D : list (Q * bool)) (val : Q) : Prop :=
  let alpha := ln (Q2R (nth 0 (map fst D) 1%Q)) in
  least_level alpha (map personQ D) /\
  exists d, cost t (map personQ D) d /\ fair t alpha (map personQ D) d = Q2R val.

Lemma levels_ratios x D : levels_of x (map personQ D) = map (fun r => ln (Q2R r)) (ratiosQ x D).
Proof.
  unfold levels_of, ratiosQ. induction D as [|[r v] D IH]; simpl; auto. destruct (Bool.eqb v x); simpl; now rewrite IH.
Qed.
Lemma ln_le x y : 0 < x -> x <= y -> ln x <= ln y.
Proof. intros Hx [H| -> ]; [left; now apply ln_increasing|lra]. Qed.
Lemma sortedQ_strong l : sortedQ l = true -> Sorted.StronglySorted (fun a b => Q2R a <= Q2R b) l.
Proof.
  intros H. apply Sorted.Sorted_StronglySorted; [intros a b c; lra|].
  induction l as [|a [|b r] IH]; [constructor|constructor; constructor|].
  cbn [sortedQ] in H. apply andb_true_iff in H. destruct H as [H1 H2]. constructor; [apply IH; exact H2|].
  constructor. now apply Qle_Rle, Qle_bool_iff.
Qed.
Lemma sorted_ratios x D : Sorted.StronglySorted (fun a b => Q2R a <= Q2R b) (map fst D) -> (forall i, In i D -> 1 <= Q2R (fst i)) ->
  Sorted.StronglySorted Rle (map (fun r => ln (Q2R r)) (ratiosQ x D)).
Proof.
  unfold ratiosQ. induction D as [|[r v] D IH]; intros H L; simpl in *; [constructor|].
  inversion H as [|? ? H1 H2]; subst. specialize (IH H1 ltac:(intros; apply L; auto)).
  destruct (Bool.eqb v x); simpl; auto. constructor; auto. rewrite Forall_forall in *.
  intros z Hz. apply in_map_iff in Hz. destruct Hz as (q & <- & Hq). apply in_map_iff in Hq. destruct Hq as (i & <- & Hi).
  apply filter_In in Hi. destruct Hi as [Hi _]. apply ln_le.
  - specialize (L (r, v) ltac:(auto)). simpl in L. lra.
  - apply H2. apply in_map_iff. eauto.
Qed.
Lemma productQ_exp l : (forall r, In r l -> 1 <= Q2R r) ->
  0 < Q2R (productQ l) /\ Q2R (productQ l) = exp (sum (fun a => a) (map (fun r => ln (Q2R r)) l)).
Proof.
  induction l as [|a l IH]; intros H; cbn [productQ map sum].
  - rewrite Q2R_1', exp_0. lra.
  - destruct (IH ltac:(intros; apply H; simpl; auto)) as [P E]. specialize (H a ltac:(simpl; auto)).
    rewrite Q2R_red, Q2R_mult, exp_plus, exp_ln, E by lra. split; [|reflexivity].
    apply Rmult_lt_0_compat; [lra|apply exp_pos].
Qed.
Lemma fair_factor alpha l : 1 <= Q2R alpha -> (forall r, In r l -> 1 <= Q2R r) ->
  Q2R (/ (1 + / alpha) * / productQ l) = c_fair (ln (Q2R alpha)) * exp (- sum (fun a => a) (map (fun r => ln (Q2R r)) l)).
Proof.
  intros Ha Hl. destruct (productQ_exp l Hl) as [P E].
  assert (Na : ~ (alpha == 0)%Q) by (apply Q2R_nz; auto).
  assert (Ia : 0 < Q2R (/ alpha)) by (rewrite Q2R_inv by auto; apply Rinv_0_lt_compat; lra).
  rewrite Q2R_mult, !Q2R_inv, Q2R_plus, Q2R_1', Q2R_inv, exp_Ropp, <- E; auto.
  - unfold c_fair. rewrite exp_Ropp, exp_ln by lra. reflexivity.
  - intros e. apply Qeq_eqR in e. rewrite Q2R_0' in e. lra.
  - intros e. apply Qeq_eqR in e. rewrite Q2R_plus, Q2R_1', Q2R_0' in e. lra.
Qed.
Lemma firstn_incl {A} k (l : list A) a : In a (firstn k l) -> In a l.
Proof. intros H. rewrite <- (firstn_skipn k l). apply in_or_app. auto. Qed.
Theorem check_fair t D val : fair_ok t D val = true -> fair_is t D val.
Proof.
  unfold fair_ok, fair_is. rewrite !andb_true_iff. intros [[[[H1 H2] H3] H4] H5].
  apply Nat.leb_le in H1. apply Nat.leb_le in H2. rewrite forallb_forall in H3. apply sortedQ_strong in H4.
  apply Qeq_bool_iff, Qeq_eqR in H5. rewrite <- H5. clear H5 val.
  assert (L : forall i, In i D -> 1 <= Q2R (fst i)).
  { intros i Hi. specialize (H3 i Hi). apply Qle_bool_iff, Qle_Rle in H3. now rewrite Q2R_1' in H3. }
  assert (Lx : forall x r, In r (ratiosQ x D) -> 1 <= Q2R r).
  { intros x r Hr. apply in_map_iff in Hr. destruct Hr as (i & <- & Hi). apply filter_In in Hi. now apply L. }
  assert (O : forall x, levels_ok (map (fun r => ln (Q2R r)) (ratiosQ x D))).
  { intros x a Ha. apply in_map_iff in Ha. destruct Ha as (r & <- & Hr). specialize (Lx x r Hr).
    rewrite <- ln_1. apply ln_le; lra. }
  destruct D as [|[a v] D']; [simpl in H2; lia|]. set (D := (a, v) :: D') in *. cbn [map fst nth].
  assert (La : 1 <= Q2R a) by (apply (L (a, v)); simpl; auto).
  split.
  - split.
    + exists (personQ (a, v)). simpl. auto.
    + intros i Hi. apply in_map_iff in Hi. destruct Hi as (j & <- & Hj). simpl. apply ln_le; [lra|].
      inversion H4 as [|? ? _ F]; subst. rewrite Forall_forall in F. destruct Hj as [<-|Hj]; [simpl; lra|].
      apply F. apply in_map_iff. eauto.
  - assert (Len : (length (ratiosQ true D) + length (ratiosQ false D) = length D)%nat).
    { clear. unfold ratiosQ. induction D as [|[r x] D IH]; simpl; auto. destruct x; simpl in *; lia. }
    unfold cost, fair, count_yes, fairQ. rewrite !levels_ratios, !map_length.
    set (y := length (ratiosQ true D)) in *.
    destruct (le_lt_dec t y) as [c|c].
    + exists (sum (fun a => a) (map (fun r => ln (Q2R r)) (firstn (y - t + 1) (ratiosQ true D)))). split.
      * replace (INR y - INR t + 1) with (INR (y - t + 1)) by (rewrite plus_INR, minus_INR by auto; simpl; lra).
        rewrite <- firstn_map. apply cheapest_sorted; auto using sorted_ratios. rewrite map_length. fold y. lia.
      * rewrite Q2R_minus, Q2R_1', fair_factor; auto. intros r Hr. apply (Lx true). now apply firstn_incl in Hr.
    + exists (sum (fun a => a) (map (fun r => ln (Q2R r)) (firstn (t - y) (ratiosQ false D)))). split.
      * replace (INR t - INR y) with (INR (t - y)) by (rewrite minus_INR by lia; lra).
        rewrite <- firstn_map. apply cheapest_sorted; auto using sorted_ratios. rewrite map_length. lia.
      * rewrite fair_factor; auto. intros r Hr. apply (Lx false). now apply firstn_incl in Hr.
Qed.
