(** Many steps in one formula (docs/proven.md, sections 2 and 4).

    F has two straight pieces. The iterates use the first piece up to some step tau and the second one
    afterwards, so t steps cost as much as one. The number tau is given by the two inequalities that
    ball arithmetic decides at run time; no logarithm occurs. *)
Require Import Reals Lra Lia Psatz List.
Require Import DP.StepFunction DP.Raising DP.OneLevel DP.Counts.
Open Scope R_scope.

Section Closed.
  Variables E d : R.
  Hypothesis HE : 1 < E.
  Hypothesis Hd : 0 <= d <= 1.
  Definition rho0 : R := d / (E - 1).
  Definition thr : R := (1 - d) / (E + 1).

  Lemma rho_eq : E * rho0 = rho0 + d.
  Proof. unfold rho0. field. lra. Qed.
  Lemma rho_nonneg : 0 <= rho0.
  Proof. unfold rho0. apply Rle_mult_inv_pos; lra. Qed.
  Lemma thr_eq : (E + 1) * thr = 1 - d.
  Proof. unfold thr. field. lra. Qed.
  Lemma thr_rho : thr + rho0 = (E - 1 + 2 * d) / (E * E - 1).
  Proof. unfold thr, rho0. field. split; [|split]; nra. Qed.

  Lemma F_low s : 0 <= s <= thr -> F E d s = E * s + d.
  Proof.
    intros Hs. pose proof thr_eq.
    assert (M1 : (E + 1) * s <= 1 - d) by nra.
    apply Rle_antisym; [pose proof (F_ub E d ltac:(lra) s); lra|]. apply F_spec; [lra|].
    assert (0 <= (E - 1) * (1 - d - (E + 1) * s)) by (apply Rmult_le_pos; lra).
    repeat split; nra.
  Qed.
  (** in the distance to 1, shifted by rho *)
  Lemma F_high s : thr <= s -> s <= 1 -> 1 - F E d s + rho0 = Rmax rho0 ((1 - s + rho0) / E).
  Proof.
    intros H1 H2. pose proof thr_eq as T. pose proof rho_eq as Rq. pose proof (F_ub E d ltac:(lra) s) as U.
    set (y := (1 - s + rho0) / E). assert (Ey : E * y = 1 - s + rho0) by (unfold y; field; lra). clearbody y.
    assert (G : forall x, x <= 1 -> 1 - s <= E * (1 - x) + d -> x <= F E d s).
    { intros x X1 X2. apply F_spec; [lra|]. repeat split; auto.
      assert (0 <= (E - 1) * ((E + 1) * s - (1 - d))) by (apply Rmult_le_pos; nra).
      apply Rmult_le_reg_l with E; nra. }
    unfold Rmax. destruct (Rle_dec rho0 y) as [c|c].
    - apply Rle_antisym.
      + assert (1 - y + rho0 <= F E d s); [|lra]. apply G; nra.
      + assert (E * y <= E * (1 - F E d s + rho0)) by nra. apply Rmult_le_reg_l with E; lra.
    - apply Rle_antisym; [|lra]. assert (1 <= F E d s); [|lra]. apply G; [lra|]. nra.
  Qed.

  Lemma iter_ge n s : 0 <= s <= 1 -> s <= iter (F E d) n s <= 1.
  Proof. intros H. apply (iter_tradeoff (F E d) n (F_is_tradeoff E d ltac:(lra) Hd)); auto. Qed.

  Lemma phase2 n s : thr <= s -> 0 <= s <= 1 ->
    1 - iter (F E d) n s + rho0 = Rmax rho0 ((1 - s + rho0) / E ^ n).
  Proof.
    intros H1 H2. induction n as [|n IH].
    - simpl. pose proof rho_nonneg. unfold Rmax. destruct (Rle_dec _ _); lra.
    - cbn [iter]. pose proof (iter_ge n s H2). rewrite F_high by lra. rewrite IH.
      assert (P : 0 < E ^ n) by (apply pow_lt; lra). pose proof rho_nonneg.
      replace ((1 - s + rho0) / E ^ (S n)) with ((1 - s + rho0) / E ^ n / E) by (simpl; field; lra).
      set (z := (1 - s + rho0) / E ^ n). clearbody z.
      assert (D : forall a, E * (a / E) = a) by (intros; field; lra).
      pose proof (D rho0). pose proof (D z). unfold Rmax. repeat destruct (Rle_dec _ _); nra.
  Qed.
  Lemma phase1 n s : 0 <= s <= 1 -> (forall i, (i < n)%nat -> E ^ i * (s + rho0) <= thr + rho0) ->
    iter (F E d) n s = E ^ n * (s + rho0) - rho0.
  Proof.
    intros Hs H. induction n as [|n IH]; [simpl; lra|].
    cbn [iter]. assert (IH' := IH ltac:(intros; apply H; lia)). pose proof (iter_ge n s Hs).
    pose proof (H n ltac:(lia)). rewrite F_low by lra. rewrite IH'. pose proof rho_eq. simpl. nra.
  Qed.
  Lemma iter_add a b s : iter (F E d) (a + b) s = iter (F E d) a (iter (F E d) b s).
  Proof. induction a; simpl; congruence. Qed.

  (** the run-time formula *)
  Definition closed (tau t : nat) (s : R) : R :=
    if Compare_dec.le_lt_dec t tau then Rmin 1 (E ^ t * (s + rho0) - rho0)
    else Rmin 1 (1 + rho0 - (1 - (E ^ tau * (s + rho0) - rho0) + rho0) / E ^ (t - tau)).

  (** proven.md section 2: t steps of F in closed form. *)
  Theorem many_steps tau t s : 0 <= s <= 1 ->
    (forall i, (i < tau)%nat -> E ^ i * (s + rho0) <= (E - 1 + 2 * d) / (E * E - 1)) ->
    (E - 1 + 2 * d) / (E * E - 1) <= E ^ tau * (s + rho0) ->
    iter (F E d) t s = closed tau t s.
  Proof.
    intros Hs Hlow Hhigh. rewrite <- thr_rho in *. unfold closed.
    destruct (Compare_dec.le_lt_dec t tau) as [c|c].
    - pose proof (iter_ge t s Hs). rewrite (phase1 t) in * by (auto; intros; apply Hlow; lia).
      unfold Rmin. destruct (Rle_dec _ _); lra.
    - replace t with ((t - tau) + tau)%nat at 1 by lia. rewrite iter_add.
      pose proof (iter_ge tau s Hs) as G. pose proof (phase1 tau s Hs Hlow) as P1.
      pose proof (phase2 (t - tau) (iter (F E d) tau s) ltac:(lra) ltac:(lra)) as P2.
      rewrite P1 in *. unfold Rmax in P2. unfold Rmin. repeat destruct (Rle_dec _ _); lra.
  Qed.

  (** *** The number tau by a logarithm *)
  Lemma power_exp n : E ^ n = exp (INR n * ln E).
  Proof. rewrite <- Rpower_pow by lra. reflexivity. Qed.

  (** proven.md section 2: tau is the least whole number from 0 on that is not below the logarithm of the page;
      where s = 0 and delta = 0 nothing ever changes. *)
  Theorem many_steps_by_logarithm tau t s : 0 <= s <= 1 -> 0 < s + rho0 ->
    let l := ln ((E - 1 + 2 * d) / ((E * E - 1) * (s + rho0))) / ln E in
    l <= INR tau -> tau = 0%nat \/ INR tau < l + 1 -> iter (F E d) t s = closed tau t s.
  Proof.
    intros Hs Hx l Hl Hleast.
    assert (HlnE : 0 < ln E) by (rewrite <- ln_1; apply ln_increasing; lra).
    set (c := (E - 1 + 2 * d) / (E * E - 1)).
    assert (Hsq : 0 < E * E - 1) by nra.
    assert (Hc : 0 < c) by (apply Rdiv_lt_0_compat; lra).
    assert (Hcx : c = (s + rho0) * exp (l * ln E)).
    { replace (l * ln E) with (ln (c / (s + rho0))).
      - rewrite exp_ln by (apply Rdiv_lt_0_compat; lra). field. lra.
      - unfold l. replace ((E - 1 + 2 * d) / ((E * E - 1) * (s + rho0))) with (c / (s + rho0)) by (unfold c; field; lra).
        field. lra. }
    assert (rises : forall a b, a <= b -> exp (a * ln E) <= exp (b * ln E)).
    { intros a b [Hab | ->]; [left; apply exp_increasing; nra | right; reflexivity]. }
    apply many_steps; fold c; [assumption | |].
    - intros i Hi. destruct Hleast as [-> | Hleast]; [lia|].
      assert (INR i <= l) by (apply lt_le_S, le_INR in Hi; rewrite S_INR in Hi; lra).
      rewrite power_exp, Hcx, Rmult_comm. apply Rmult_le_compat_l; [lra | apply rises; assumption].
    - rewrite power_exp, Hcx, (Rmult_comm (exp _)). apply Rmult_le_compat_l; [lra | apply rises; assumption].
  Qed.

  (** proven.md section 4: the probability of a wrong answer at distance t from a balanced boundary. *)
  Theorem balanced_error t : 1 - iter (F E d) t ((E + d) / (E + 1)) =
    Rmax 0 ((E - 1 - d * (E ^ (S t) + E ^ t - 2)) / (E ^ t * (E * E - 1))).
  Proof.
    set (m := (E + d) / (E + 1)). assert (Em : (E + 1) * m = E + d) by (unfold m; field; lra).
    pose proof thr_eq as T. assert (1 - m = thr) by nra. assert (thr <= m) by nra. assert (m <= 1) by nra.
    assert (0 <= m) by nra.
    pose proof (phase2 t m ltac:(lra) ltac:(lra)) as P. rewrite H, thr_rho in P.
    assert (PE : 0 < E ^ t) by (apply pow_lt; lra).
    assert (X : (E - 1 + 2 * d) / (E * E - 1) / E ^ t - rho0 =
      (E - 1 - d * (E ^ (S t) + E ^ t - 2)) / (E ^ t * (E * E - 1))).
    { unfold rho0. simpl. field. repeat split; nra. }
    rewrite <- X. unfold Rmax in *. repeat destruct (Rle_dec _ _); lra.
  Qed.
  Lemma balanced_close : 1 - (E + d) / (E + 1) = thr /\ F E d thr = (E + d) / (E + 1).
  Proof.
    assert (e : 1 - (E + d) / (E + 1) = thr) by (unfold thr; field; lra).
    split; auto. pose proof thr_eq. rewrite F_low; [|split; [nra|lra]].
    apply Rmult_eq_reg_l with (E + 1); [|lra]. field_simplify; nra.
  Qed.

  (** the tails of the cut geometric law, as numbers.md §2 has them *)
  Lemma T_iter k : T E d k = 1 - iter (F E d) k ((E + d) / (E + 1)).
  Proof.
    induction k as [|k IH].
    - rewrite T_O. simpl. field. lra.
    - cbn [iter]. replace (iter (F E d) k ((E + d) / (E + 1))) with (1 - T E d k) by lra.
      rewrite F_up by lra. lra.
  Qed.
  (** proven.md section 14: the tails of the cut geometric law are the cut tails of the geometric law. *)
  Theorem cut_geometric_tail k : let x := / E in let b := d / (E - 1 + 2 * d) in
    T E d k = Rmax 0 ((x ^ (S k) / (1 + x) - b) / (1 - 2 * b)).
  Proof.
    intros x b. rewrite T_iter, balanced_error. f_equal.
    assert (PE : 0 < E ^ k) by (apply pow_lt; lra).
    unfold x, b. rewrite pow_inv. simpl. field. repeat split; nra.
  Qed.
End Closed.

(** proven.md section 2: for epsilon = 0, F^t(s) = min(1, s + t delta). *)
Theorem many_steps_eps_zero d t s : 0 <= d <= 1 -> 0 <= s <= 1 -> iter (F 1 d) t s = Rmin 1 (s + INR t * d).
Proof.
  intros Hd Hs. induction t as [|t IH]; [simpl; unfold Rmin; destruct (Rle_dec _ _); lra|].
  cbn [iter]. rewrite IH, S_INR. unfold F, Rmin. repeat destruct (Rle_dec _ _); lra.
Qed.
