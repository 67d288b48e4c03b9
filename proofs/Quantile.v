(** The private quantile, from the table to the law (docs/quantiles.md; docs/proven.md, section 8).

    A table is a list of records: Some bin, or None for a person without a value, outside of the range, or
    left out by `among`. One record replaced, added or removed shifts one block of cuts by one, and such a
    shift is a move of the smoothed crossing. *)
Require Import Reals Lra Lia Psatz List Permutation Bool Arith ZArith.
Require Import DP.StepFunction DP.Crossing.
Import ListNotations.
Open Scope R_scope.

Section Rank.
  (** q = qn / qd in [0, 1] *)
  Variables qn qd : Z.
  Hypothesis Hq : (0 <= qn <= qd /\ 0 < qd)%Z.
  Definition ceilq (n : Z) : Z := (- ((- (qn * n)) / qd))%Z.

  Lemma ceilq_step n : (ceilq n <= ceilq (n + 1) <= ceilq n + 1)%Z.
  Proof.
    unfold ceilq. set (x := (- (qn * n))%Z). replace (- (qn * (n + 1)))%Z with (x - qn)%Z by (unfold x; ring).
    assert (A1 : ((x - qn) / qd <= x / qd)%Z) by (apply Z.div_le_mono; lia).
    assert (A2 : ((x - qd) / qd <= (x - qn) / qd)%Z) by (apply Z.div_le_mono; lia).
    replace (x - qd)%Z with (x + (-1) * qd)%Z in A2 by ring. rewrite Z.div_add in A2 by lia. lia.
  Qed.

  Notation record := (option nat).
  Definition valid (r : record) : Z := match r with Some _ => 1 | None => 0 end.
  Definition upto (t : nat) (r : record) : Z :=
    match r with Some b => if (b <=? t)%nat then 1 else 0 | None => 0 end.
  Definition total (f : record -> Z) (D : list record) : Z := fold_right (fun r s => (f r + s)%Z) 0%Z D.
  (** the cut a_t = c_1 + .. + c_t - ceil (q n_valid) *)
  Definition acut (D : list record) (t : nat) : Z := (total (upto t) D - ceilq (total valid D))%Z.

  Lemma total_app f D D' : total f (D ++ D') = (total f D + total f D')%Z.
  Proof. induction D; simpl; lia. Qed.

  Inductive neighbours : list record -> list record -> Prop :=
  | replaced D1 D2 x y : neighbours (D1 ++ x :: D2) (D1 ++ y :: D2)
  | added D1 D2 x : neighbours (D1 ++ D2) (D1 ++ x :: D2)
  | removed D1 D2 x : neighbours (D1 ++ x :: D2) (D1 ++ D2).

  Definition shiftby D D' (t : nat) : R := IZR (acut D' t - acut D t).

  (** a block of cuts moves by +1 or by -1 *)
  Definition block (g : nat -> Z) := exists lo hi s, (s = 1 \/ s = -1)%Z /\
    forall t, g t = (if (lo <=? t)%nat && (t <? hi)%nat then s else 0)%Z.

  Lemma block_opp g g' : (forall t, g' t = - g t)%Z -> block g -> block g'.
  Proof.
    intros H (lo & hi & s & Hs & G). exists lo, hi, (- s)%Z. split; [lia|]. intros t. rewrite H, G.
    destruct ((lo <=? t)%nat && (t <? hi)%nat); lia.
  Qed.

  Ltac bools := repeat match goal with
    | |- context [(?a <=? ?b)%nat] => destruct (Nat.leb_spec a b)
    | |- context [(?a <? ?b)%nat] => destruct (Nat.ltb_spec a b) end; simpl; try lia.

  (** only the bins below [N + 1] exist, so N bounds the right end *)
  Variable N : nat.
  Definition in_range (r : record) := match r with Some b => (b <= N)%nat | None => True end.

  Lemma enter_block (b : nat) n : exists lo hi s, (s = 1 \/ s = -1)%Z /\
    forall t, (t < N)%nat -> ((if (b <=? t)%nat then 1 else 0) - (ceilq (n + 1) - ceilq n)
            = if (lo <=? t)%nat && (t <? hi)%nat then s else 0)%Z.
  Proof.
    pose proof (ceilq_step n). assert (C : (ceilq (n + 1) - ceilq n = 0 \/ ceilq (n + 1) - ceilq n = 1)%Z) by lia.
    destruct C as [C|C]; rewrite C.
    - exists b, N, 1%Z. split; [lia|]. intros t Ht. bools.
    - exists 0%nat, b, (-1)%Z. split; [lia|]. intros t Ht. bools.
  Qed.

  (** proven.md section 8: every replaced, added or removed record shifts one contiguous block of cuts by one. *)
  Theorem block_move D D' : neighbours D D' -> exists lo hi s, (s = 1 \/ s = -1)%Z /\
    forall t, (t < N)%nat -> (acut D' t - acut D t = if (lo <=? t)%nat && (t <? hi)%nat then s else 0)%Z.
  Proof.
    assert (enter : forall D1 D2 b, exists lo hi s, (s = 1 \/ s = -1)%Z /\ forall t, (t < N)%nat ->
      (acut (D1 ++ Some b :: D2) t - acut (D1 ++ D2) t = if (lo <=? t)%nat && (t <? hi)%nat then s else 0)%Z).
    { intros D1 D2 b. destruct (enter_block b (total valid (D1 ++ D2))) as (lo & hi & s & Hs & G).
      exists lo, hi, s. split; auto. intros t Ht. rewrite <- G by auto. unfold acut. rewrite !total_app.
      cbn [total fold_right valid upto]. fold (total valid D2). fold (total (upto t) D2).
      replace (total valid D1 + (1 + total valid D2))%Z with (total valid D1 + total valid D2 + 1)%Z by ring.
      destruct (b <=? t)%nat; lia. }
    assert (none : forall D1 D2 t, acut (D1 ++ None :: D2) t = acut (D1 ++ D2) t).
    { intros. unfold acut. rewrite !total_app. simpl. reflexivity. }
    assert (nothing : exists lo hi s, (s = 1 \/ s = -1)%Z /\ forall t, (t < N)%nat ->
      (0 = if (lo <=? t)%nat && (t <? hi)%nat then s else 0)%Z).
    { exists 0%nat, 0%nat, 1%Z. split; [lia|]. intros. bools. }
    assert (leave : forall D1 D2 b, exists lo hi s, (s = 1 \/ s = -1)%Z /\ forall t, (t < N)%nat ->
      (acut (D1 ++ D2) t - acut (D1 ++ Some b :: D2) t = if (lo <=? t)%nat && (t <? hi)%nat then s else 0)%Z).
    { intros D1 D2 b. destruct (enter D1 D2 b) as (lo & hi & s & Hs & G). exists lo, hi, (- s)%Z. split; [lia|].
      intros t Ht. generalize (G t Ht). destruct ((lo <=? t)%nat && (t <? hi)%nat); lia. }
    intros H. destruct H as [D1 D2 x y|D1 D2 x|D1 D2 x].
    - destruct x as [b|], y as [c|].
      + (* from bin b to bin c *)
        assert (G : forall t, (acut (D1 ++ Some c :: D2) t - acut (D1 ++ Some b :: D2) t
                    = (if (c <=? t)%nat then 1 else 0) - (if (b <=? t)%nat then 1 else 0))%Z).
        { intros t. unfold acut. rewrite !total_app. simpl. lia. }
        destruct (le_lt_dec c b).
        * exists c, b, 1%Z. split; [lia|]. intros t Ht. rewrite G. bools.
        * exists b, c, (-1)%Z. split; [lia|]. intros t Ht. rewrite G. bools.
      + destruct (leave D1 D2 b) as (lo & hi & s & Hs & G). exists lo, hi, s. split; auto.
        intros t Ht. rewrite none. auto.
      + destruct (enter D1 D2 c) as (lo & hi & s & Hs & G). exists lo, hi, s. split; auto.
        intros t Ht. rewrite none. auto.
      + destruct nothing as (lo & hi & s & Hs & G). exists lo, hi, s. split; auto.
        intros t Ht. rewrite !none, <- G by auto. lia.
    - destruct x as [b|]; [apply enter|]. destruct nothing as (lo & hi & s & Hs & G). exists lo, hi, s.
      split; auto. intros t Ht. rewrite none, <- G by auto. lia.
    - destruct x as [b|]; [apply leave|]. destruct nothing as (lo & hi & s & Hs & G). exists lo, hi, s.
      split; auto. intros t Ht. rewrite none, <- G by auto. lia.
  Qed.

  Lemma block_is_move D D' : neighbours D D' -> move N (shiftby D D').
  Proof.
    intros H. destruct (block_move D D' H) as (lo & hi & s & Hs & G). unfold shiftby.
    assert (V : forall t, (t < N)%nat -> IZR (acut D' t - acut D t)
                = if (lo <=? t)%nat && (t <? hi)%nat then IZR s else 0).
    { intros t Ht. rewrite G by auto. now destruct ((lo <=? t)%nat && (t <? hi)%nat). }
    split.
    - intros t Ht. rewrite V by auto. destruct Hs as [-> | ->], ((lo <=? t)%nat && (t <? hi)%nat); lra.
    - right. right. destruct Hs as [-> | ->]; [left|right]; split.
      + intros t Ht. rewrite V by auto. destruct ((lo <=? t)%nat && (t <? hi)%nat); lra.
      + destruct (le_lt_dec hi lo) as [e|e].
        * exists 0%nat. split; intros i j Hij Hj; rewrite !V by lia;
            destruct (Nat.leb_spec lo i), (Nat.ltb_spec i hi), (Nat.leb_spec lo j), (Nat.ltb_spec j hi); simpl; try lia; lra.
        * exists lo. split; intros i j Hij Hj; rewrite !V by lia;
            destruct (Nat.leb_spec lo i), (Nat.ltb_spec i hi), (Nat.leb_spec lo j), (Nat.ltb_spec j hi); simpl; try lia; lra.
      + intros t Ht. rewrite V by auto. destruct ((lo <=? t)%nat && (t <? hi)%nat); lra.
      + destruct (le_lt_dec hi lo) as [e|e].
        * exists 0%nat. split; intros i j Hij Hj; rewrite !V by lia;
            destruct (Nat.leb_spec lo i), (Nat.ltb_spec i hi), (Nat.leb_spec lo j), (Nat.ltb_spec j hi); simpl; try lia; lra.
        * exists lo. split; intros i j Hij Hj; rewrite !V by lia;
            destruct (Nat.leb_spec lo i), (Nat.ltb_spec i hi), (Nat.leb_spec lo j), (Nat.ltb_spec j hi); simpl; try lia; lra.
  Qed.

  (** ** The law *)
  Hypothesis HN : (1 <= N)%nat.                 (* K = N + 1 bins, K >= 2 *)
  Variable eps : R.
  Hypothesis Heps : 0 <= eps.
  Variable m : nat -> R.                         (* public weights of the bins *)
  Hypothesis Hm : forall j, 0 < m j.

  Definition wl (D : list record) t := m t * exp (eps / 2 * IZR (acut D t)).
  Definition wr (D : list record) t := m (S t) * exp (- (eps / 2 * (IZR (acut D t) + 1))).
  (** P(answer = bin j), j = 0..N *)
  Definition smoothed_rank D j := bin N (wl D) (wr D) j.

  Lemma bin_ext l1 r1 l2 r2 j : (forall t, l1 t = l2 t) -> (forall t, r1 t = r2 t) -> bin N l1 r1 j = bin N l2 r2 j.
  Proof.
    intros H1 H2. assert (X : forall t, rho N l1 r1 t = rho N l2 r2 t).
    { intros t. unfold rho, L, Rt. rewrite (sum_ext l1 l2), (sum_ext r1 r2); auto. }
    unfold bin, cdf. destruct j; rewrite !X; auto.
  Qed.

  (** proven.md section 8: the smoothed rank is epsilon-DP for one record replaced, added or removed. *)
  Theorem smoothed_rank_private D D' : neighbours D D' -> forall j, (j <= N)%nat ->
    smoothed_rank D' j <= exp eps * smoothed_rank D j.
  Proof.
    intros H j Hj. unfold smoothed_rank.
    rewrite (bin_ext (wl D') (wr D') (l' (eps / 2) (wl D) (shiftby D D')) (r' (eps / 2) (wr D) (shiftby D D'))).
    - replace eps with (2 * (eps / 2)) at 3 by lra.
      apply crossing_private; auto; try lra.
      + intros. apply Rmult_lt_0_compat; [auto|apply exp_pos].
      + intros. apply Rmult_lt_0_compat; [auto|apply exp_pos].
      + now apply block_is_move.
    - intros t. unfold wl, l', shiftby. rewrite Rmult_assoc, <- exp_plus. f_equal. f_equal. rewrite minus_IZR. lra.
    - intros t. unfold wr, r', shiftby. rewrite Rmult_assoc, <- exp_plus. f_equal. f_equal. rewrite minus_IZR. lra.
  Qed.

  (** ** It is a distribution *)
  Lemma rho_pos D t : (t < N)%nat -> 0 < rho N (wl D) (wr D) t.
  Proof.
    intros Ht. apply Rdiv_lt_0_compat; [apply (L_pos N)|apply Rt_pos]; auto;
      intros; apply Rmult_lt_0_compat; auto; apply exp_pos.
  Qed.
  (** proven.md section 8: the probabilities of the smoothed rank add up to one. *)
  Lemma smoothed_rank_mass D : sum (smoothed_rank D) (seq 0 (S N)) = 1.
  Proof.
    assert (G : forall k, (k < N)%nat -> sum (smoothed_rank D) (seq 0 (S k)) = cdf N (wl D) (wr D) k).
    { induction k as [|k IH]; intros Hk.
      - simpl. lra.
      - rewrite seq_S, sum_app, IH by lia. cbn [sum plus]. unfold smoothed_rank, bin.
        destruct (le_lt_dec N (S k)); [lia|]. lra. }
    rewrite seq_S, sum_app. cbn [plus]. replace N with (S (N - 1)) at 1 by lia. rewrite G by lia.
    cbn [sum]. unfold smoothed_rank, bin. destruct N as [|n] eqn:e; [lia|].
    destruct (le_lt_dec (S n) (S n)); [|lia]. replace (S n - 1)%nat with n by lia. lra.
  Qed.

  (** ** The recursions that the software runs *)
  Definition s := exp (- (eps / 2)).
  Definition cnt D t : Z := match t with O => total (upto 0) D | S k => (acut D (S k) - acut D k)%Z end.
  Fixpoint Ltil D t := match t with O => m 0%nat | S k => m (S k) + exp (- (eps / 2 * IZR (cnt D (S k)))) * Ltil D k end.
  (** k steps left of the last cut, t = N - 1 - k *)
  Fixpoint Rtil D k := match k with O => m N
    | S i => m (N - 1 - i)%nat + exp (- (eps / 2 * IZR (cnt D (N - 1 - i)%nat))) * Rtil D i end.

  Lemma Ltil_L D t : L (wl D) t = exp (eps / 2 * IZR (acut D t)) * Ltil D t.
  Proof.
    induction t as [|t IH].
    - unfold L, wl. simpl. lra.
    - rewrite L_S, IH. cbn [Ltil]. unfold wl. rewrite Rmult_plus_distr_l, <- Rmult_assoc, <- exp_plus.
      replace (eps / 2 * IZR (acut D (S t)) + - (eps / 2 * IZR (cnt D (S t)))) with (eps / 2 * IZR (acut D t)).
      + lra.
      + unfold cnt. rewrite minus_IZR. lra.
  Qed.
  Lemma Rtil_R D k : (k < N)%nat -> Rt N (wr D) (N - 1 - k) = exp (- (eps / 2 * (IZR (acut D (N - 1 - k)) + 1))) * Rtil D k.
  Proof.
    induction k as [|k IH]; intros Hk.
    - unfold Rt. replace (N - 1 - 0)%nat with (N - 1)%nat by lia.
      replace (N - (N - 1))%nat with 1%nat by lia. simpl. unfold wr. replace (S (N - 1)) with N by lia. lra.
    - rewrite (Rt_S N) by lia. replace (S (N - 1 - S k)) with (N - 1 - k)%nat by lia. rewrite IH by lia.
      cbn [Rtil]. unfold wr. replace (S (N - 1 - S k)) with (N - 1 - k)%nat by lia.
      assert (X : exp (- (eps / 2 * (IZR (acut D (N - 1 - S k)) + 1))) * exp (- (eps / 2 * IZR (cnt D (N - 1 - k))))
        = exp (- (eps / 2 * (IZR (acut D (N - 1 - k)) + 1)))).
      { rewrite <- exp_plus. f_equal. replace (N - 1 - k)%nat with (S (N - 1 - S k)) by lia.
        unfold cnt. rewrite minus_IZR. lra. }
      rewrite <- X. ring.
  Qed.
  Lemma Rtil_pos D k : 0 < Rtil D k.
  Proof.
    induction k as [|k IH]; cbn [Rtil]; [auto|]. apply Rplus_lt_0_compat; [auto|].
    apply Rmult_lt_0_compat; [apply exp_pos|auto].
  Qed.
  (** proven.md section 8: the recursion that the software runs gives the odds of the definition. *)
  Theorem smoothed_rank_recursion D k : (k < N)%nat ->
    rho N (wl D) (wr D) (N - 1 - k) =
    exp (eps * (IZR (acut D (N - 1 - k)) + 1 / 2)) * Ltil D (N - 1 - k) / Rtil D k.
  Proof.
    intros Hk. unfold rho. rewrite Ltil_L, Rtil_R by auto.
    set (a := IZR (acut D (N - 1 - k))). pose proof (Rtil_pos D k) as HR.
    replace (eps * (a + 1 / 2)) with (eps / 2 * a + eps / 2 * (a + 1)) by lra.
    rewrite exp_plus, exp_Ropp. pose proof (exp_pos (eps / 2 * (a + 1))). field. lra.
  Qed.
End Rank.
