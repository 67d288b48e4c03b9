(** The private quantile with delta > 0 (docs/quantiles.md; docs/proven.md, section 8).

    Every record shifts its block of cuts in one direction, so the distribution functions are ordered and
    the cut theorem applies. *)
Require Import Reals Lra Lia Psatz List Permutation Bool Arith ZArith.
Require Import DP.StepFunction DP.Raising DP.OneLevel DP.Cut DP.Crossing DP.Quantile.
Import ListNotations.
Open Scope R_scope.

Section RankDelta.
  Variables qn qd : Z.
  Hypothesis Hq : (0 <= qn <= qd /\ 0 < qd)%Z.
  Variable N : nat.
  Hypothesis HN : (1 <= N)%nat.
  Variable eps : R.
  Hypothesis Heps : 0 <= eps.
  Variable m : nat -> R.
  Hypothesis Hm : forall j, 0 < m j.
  Notation law D := (smoothed_rank qn qd N eps m D).
  Notation lw D := (wl qn qd eps m D).
  Notation rw D := (wr qn qd eps m D).
  Notation answers := (seq 0 (S N)).

  Lemma lw_pos D i : 0 < lw D i.
  Proof. apply Rmult_lt_0_compat; [auto|apply exp_pos]. Qed.
  Lemma rw_pos D i : 0 < rw D i.
  Proof. apply Rmult_lt_0_compat; [auto|apply exp_pos]. Qed.
  Lemma rp D t : (t < N)%nat -> 0 < rho N (lw D) (rw D) t.
  Proof. intros. apply rho_pos; auto. Qed.
  Lemma link_pos x : 0 < x -> 0 < link x < 1.
  Proof.
    intros H. destruct (Rle_dec x 1).
    - rewrite link_lo; lra.
    - rewrite link_hi by lra. pose proof (inv_pos x H). pose proof (inv_le_1 x ltac:(lra)). lra.
  Qed.
  Lemma rho_rise D a : (S a < N)%nat -> rho N (lw D) (rw D) a <= rho N (lw D) (rw D) (S a).
  Proof.
    intros Ha. assert (0 <= rho N (lw D) (rw D) (S a) - rho N (lw D) (rw D) a); [|lra].
    rewrite X_form; auto; [|intros; apply lw_pos|intros; apply rw_pos].
    pose proof (L_pos N HN (lw D) a (fun i _ => lw_pos D i) ltac:(lia)).
    pose proof (Rt_pos N HN (rw D) a (fun i _ => rw_pos D i) ltac:(lia)).
    pose proof (Rt_pos N HN (rw D) (S a) (fun i _ => rw_pos D i) Ha).
    pose proof (lw_pos D (S a)). pose proof (rw_pos D a).
    left. apply Rplus_lt_0_compat; apply Rdiv_lt_0_compat; auto; apply Rmult_lt_0_compat; auto.
  Qed.
  Lemma law_dist D : dist (law D) answers.
  Proof.
    split; [|now apply smoothed_rank_mass].
    intros j Hj. apply in_seq in Hj. unfold smoothed_rank, bin, cdf. destruct j as [|a].
    - left. apply link_pos, rp. lia.
    - destruct (le_lt_dec N (S a)).
      + pose proof (link_pos _ (rp D a ltac:(lia))). lra.
      + pose proof (link_mono _ _ (rp D a ltac:(lia)) (rho_rise D a ltac:(lia))). lra.
  Qed.

  Lemma firstn_seq k : forall a n, (k <= n)%nat -> firstn k (seq a n) = seq a k.
  Proof. induction k as [|k IH]; intros a [|n] H; simpl; auto; [lia|]. f_equal. apply IH. lia. Qed.
  Lemma pre_law D k : (k <= N)%nat ->
    pre (law D) answers k = match k with O => 0 | S i => cdf N (lw D) (rw D) i end.
  Proof.
    intros Hk. unfold pre. rewrite firstn_seq by lia. destruct k as [|k]; auto.
    induction k as [|k IH]; [simpl; unfold smoothed_rank, bin; lra|].
    rewrite seq_S, sum_app, IH by lia. cbn [sum plus]. unfold smoothed_rank, bin.
    destruct (le_lt_dec N (S k)); [lia|]. lra.
  Qed.
  Lemma pre_law_end D k : (N < k)%nat -> pre (law D) answers k = 1.
  Proof.
    intros H. unfold pre. rewrite firstn_all2 by (rewrite seq_length; lia). apply law_dist.
  Qed.

  Lemma rho_mono D D' t : (t < N)%nat -> (forall i, (i < N)%nat -> (acut qn qd D i <= acut qn qd D' i)%Z) ->
    rho N (lw D) (rw D) t <= rho N (lw D') (rw D') t.
  Proof.
    intros Ht H. unfold rho.
    assert (L1 : L (lw D) t <= L (lw D') t).
    { apply sum_le. intros i Hi. apply in_seq in Hi. unfold wl. apply Rmult_le_compat_l; [left; auto|].
      apply exp_le. apply Rmult_le_compat_l; [lra|]. apply IZR_le. apply H. lia. }
    assert (R1 : Rt N (rw D') t <= Rt N (rw D) t).
    { apply sum_le. intros i Hi. apply in_seq in Hi. unfold wr. apply Rmult_le_compat_l; [left; auto|].
      apply exp_le. apply Ropp_le_contravar. apply Rmult_le_compat_l; [lra|].
      apply Rplus_le_compat_r. apply IZR_le. apply H. lia. }
    pose proof (L_pos N HN (lw D) t (fun i _ => lw_pos D i) Ht).
    pose proof (Rt_pos N HN (rw D') t (fun i _ => rw_pos D' i) Ht).
    unfold Rdiv. apply Rmult_le_compat; try lra.
    - left. apply Rinv_0_lt_compat. lra.
    - apply Rinv_le_contravar; lra.
  Qed.
  Lemma ordered D D' : (forall i, (i < N)%nat -> (acut qn qd D i <= acut qn qd D' i)%Z) ->
    forall k, pre (law D) answers k <= pre (law D') answers k.
  Proof.
    intros H k. destruct (le_lt_dec k N) as [e|e].
    - rewrite !pre_law by auto. destruct k; [lra|]. apply link_mono; [apply rp; lia|].
      apply rho_mono; auto; lia.
    - rewrite !pre_law_end by auto. lra.
  Qed.

  Lemma neighbours_sym D D' : neighbours D D' -> neighbours D' D.
  Proof. intros []; constructor. Qed.
  Lemma both_ways D D' : neighbours D D' -> forall j, In j answers ->
    law D j <= exp eps * law D' j /\ law D' j <= exp eps * law D j.
  Proof.
    intros H j Hj. apply in_seq in Hj. split; apply smoothed_rank_private; auto; try lia.
    now apply neighbours_sym.
  Qed.

  Variables d beta : R.
  Hypothesis Hb : 0 <= beta < 1 / 2.
  Hypothesis Hbd : (exp eps - 1) * beta <= d * (1 - 2 * beta).

  (** proven.md section 8: the smoothed rank with both tails cut is (epsilon, delta)-DP. *)
  Theorem smoothed_rank_delta D D' q q' : neighbours D D' ->
    is_cut beta (law D) q answers -> is_cut beta (law D') q' answers -> close (exp eps) d answers q q'.
  Proof.
    intros H Cq Cq'. assert (HE : 1 <= exp eps) by (rewrite <- exp_0; now apply exp_le).
    destruct (block_move qn qd Hq N D D' H) as (lo & hi & s & Hs & G).
    assert (O : (forall i, (i < N)%nat -> (acut qn qd D i <= acut qn qd D' i)%Z) \/
                (forall i, (i < N)%nat -> (acut qn qd D' i <= acut qn qd D i)%Z)).
    { destruct Hs as [-> | ->]; [left|right]; intros i Hi; generalize (G i Hi);
        destruct ((lo <=? i)%nat && (i <? hi)%nat); lia. }
    destruct O as [O|O].
    - apply (cut_theorem (exp eps) d HE beta Hb Hbd (law D) (law D')); auto using law_dist.
      + apply both_ways; auto.
      + apply ordered; auto.
    - intros S. apply and_comm.
      apply (cut_theorem (exp eps) d HE beta Hb Hbd (law D') (law D) q' q answers); auto using law_dist.
      + intros a Ha. apply and_comm. now apply both_ways.
      + apply ordered; auto.
  Qed.
End RankDelta.
