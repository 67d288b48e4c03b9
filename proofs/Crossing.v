(** The smoothed crossing (docs/proven.md, section 14; docs/quantiles.md).

    Each cut between two answers has a height A_t; the answer lies where the heights cross zero, smoothed.
    Cuts are 0..N-1 and answers are 0..N. The weights are l t = m_t e^(eps A_t / 2) on the left of cut t
    and r t = m_(t+1) e^(- eps A_t / 2) on the right. A person moves A_t by h t. The shift lemma bounds
    what a move does to the odds rho; the centre lemma turns that into a bound for every answer, by
    algebra alone, without a square root or a derivative. *)
Require Import Reals Lra Lia Psatz List Permutation Bool Arith.
Require Import DP.StepFunction.
Import ListNotations.
Open Scope R_scope.

(** ** The link *)
Definition link (x : R) : R := if Rle_dec x 1 then x / 2 else 1 - / (2 * x).

Lemma link_lo x : x <= 1 -> link x = x / 2.
Proof. intros H. unfold link. destruct (Rle_dec x 1); lra. Qed.
Lemma link_hi x : 1 <= x -> link x = 1 - / x / 2.
Proof.
  intros H. unfold link. destruct (Rle_dec x 1).
  - replace x with 1 by lra. lra.
  - field. lra.
Qed.
Lemma inv_mul x : 0 < x -> x * / x = 1.
Proof. intros. field. lra. Qed.
Lemma inv_pos x : 0 < x -> 0 < / x.
Proof. apply Rinv_0_lt_compat. Qed.
Lemma inv_le_1 x : 1 <= x -> / x <= 1.
Proof. intros. pose proof (inv_mul x ltac:(lra)). pose proof (inv_pos x ltac:(lra)). nra. Qed.
Lemma inv_ge_1 x : 0 < x -> x <= 1 -> 1 <= / x.
Proof. intros. pose proof (inv_mul x ltac:(lra)). pose proof (inv_pos x ltac:(lra)). nra. Qed.

Lemma link_mirror x : 0 < x -> link (/ x) = 1 - link x.
Proof.
  intros H. destruct (Rle_dec x 1) as [c|c].
  - rewrite (link_lo x c), (link_hi (/ x)) by (apply inv_ge_1; auto). rewrite Rinv_inv. lra.
  - rewrite (link_hi x), (link_lo (/ x)) by (try apply inv_le_1; lra). lra.
Qed.
Lemma link_mono u v : 0 < u -> u <= v -> link u <= link v.
Proof.
  intros Hu H. pose proof (inv_mul u Hu). pose proof (inv_mul v ltac:(lra)).
  pose proof (inv_pos u Hu). pose proof (inv_pos v ltac:(lra)).
  destruct (Rle_dec v 1); destruct (Rle_dec u 1).
  - rewrite !link_lo; lra.
  - lra.
  - rewrite (link_lo u), (link_hi v) by lra. pose proof (inv_le_1 v ltac:(lra)). lra.
  - rewrite !link_hi by lra. nra.
Qed.
Lemma link_lip u v : 0 < u -> u <= v -> link v - link u <= (v - u) / 2.
Proof.
  intros Hu H. pose proof (inv_mul u Hu). pose proof (inv_mul v ltac:(lra)).
  pose proof (inv_pos u Hu). pose proof (inv_pos v ltac:(lra)).
  destruct (Rle_dec v 1); destruct (Rle_dec u 1).
  - rewrite !link_lo; lra.
  - lra.
  - rewrite (link_lo u), (link_hi v) by lra. nra.
  - rewrite !link_hi by lra. pose proof (inv_le_1 u ltac:(lra)). pose proof (inv_le_1 v ltac:(lra)).
    assert (/ u - / v = (v - u) * (/ u * / v)) by (field; lra).
    assert (/ u * / v <= 1) by nra. nra.
Qed.
Lemma link_scale k x : 1 <= k -> 0 < x -> link (k * x) <= k * link x.
Proof.
  intros Hk Hx. pose proof (inv_mul x Hx). pose proof (inv_pos x Hx).
  destruct (Rle_dec x 1) as [c|c].
  - rewrite (link_lo x c). destruct (Rle_dec (k * x) 1) as [e|e].
    + rewrite link_lo; lra.
    + rewrite link_hi by lra. assert (P : 0 < k * x) by nra.
      pose proof (inv_mul (k * x) P). pose proof (inv_pos (k * x) P). nra.
  - assert (1 <= k * x) by nra. rewrite !link_hi by lra.
    assert (P : 0 < k * x) by nra. pose proof (inv_mul (k * x) P). pose proof (inv_pos (k * x) P).
    pose proof (inv_le_1 x ltac:(lra)).
    assert (/ (k * x) = / k * / x) by (field; nra).
    pose proof (inv_mul k ltac:(lra)). pose proof (inv_pos k ltac:(lra)). pose proof (inv_le_1 k Hk).
    assert (0 <= (k - 1) * (1 - / x)) by (apply Rmult_le_pos; lra).
    assert (0 <= (1 - / k) * (k - 1)) by (apply Rmult_le_pos; lra).
    assert (k + / k >= 2) by nra.
    assert (0 <= (k - / k) * (1 - / x)) by (apply Rmult_le_pos; nra). nra.
Qed.

(** ** The centre lemma, by algebra alone *)
Section Algebra.
  Variables k u w : R.
  Hypothesis Hk : 1 <= k.
  Hypothesis Hu : 0 < u < 1.
  Hypothesis Hw : 0 < w < 1.

  (** the new bin straddles 1 too; u' = new lower end, w' = 1 / new upper end *)
  Lemma straddle_half u' w' : 0 < u' -> 0 < w' -> w' * u <= u' * w ->
    (1 - u' * w') * w <= k * (1 - u * w) * w' -> 2 - u' - w' <= k * (2 - u - w).
  Proof.
    intros Hu' Hw' Hs Hc. set (m := w' / w).
    assert (Em : w' = m * w) by (unfold m; field; lra).
    assert (Hm : 0 < m) by (unfold m; apply Rdiv_lt_0_compat; lra). clearbody m. subst w'.
    assert (Hmu : m * u <= u').
    { apply Rmult_le_reg_r with w; nra. }
    assert (HP : 0 < 1 - u * w) by nra.
    assert (Hc' : 1 - u' * (m * w) <= k * (m * (1 - u * w))).
    { apply Rmult_le_reg_r with w; [lra|]. nra. }
    destruct (Rle_dec 1 m) as [c|c].
    { assert (u <= u') by nra. assert (w <= m * w) by nra. nra. }
    assert (Hm1 : m < 1) by lra.
    destruct (Rle_dec (1 - m * m * (u * w)) (k * (m * (1 - u * w)))) as [e|e].
    - (* kappa is at least the value for which (m u, m w) is the extreme point *)
      assert (Q1 : 0 <= (1 - m) * (2 - u - w) + 2 * m * ((1 - u) * (1 - w))).
      { assert (0 <= (1 - m) * (2 - u - w)) by (apply Rmult_le_pos; lra).
        assert (0 <= (1 - u) * (1 - w)) by (apply Rmult_le_pos; lra). nra. }
      assert (Q2 : (2 - m * (u + w)) * (m * (1 - u * w)) <= (1 - m * m * (u * w)) * (2 - u - w)).
      { assert (X : (1 - m * m * (u * w)) * (2 - u - w) - (2 - m * (u + w)) * (m * (1 - u * w))
          = (1 - m) * ((1 - m) * (2 - u - w) + 2 * m * ((1 - u) * (1 - w)))) by ring.
        assert (0 <= (1 - m) * ((1 - m) * (2 - u - w) + 2 * m * ((1 - u) * (1 - w))))
          by (apply Rmult_le_pos; lra). lra. }
      assert (Q3 : (1 - m * m * (u * w)) * (2 - u - w) <= k * (m * (1 - u * w)) * (2 - u - w))
        by (apply Rmult_le_compat_r; lra).
      assert (Q4 : 2 - m * (u + w) <= k * (2 - u - w)).
      { apply Rmult_le_reg_r with (m * (1 - u * w)); [apply Rmult_lt_0_compat; lra|]. nra. }
      lra.
    - assert (Q1 : (1 - m * m * (u * w)) * ((1 - w) * (1 - w)) <= (1 - m * w) * (1 - m * w) * (1 - u * w)).
      { assert (X : (1 - m * w) * (1 - m * w) * (1 - u * w) - (1 - m * m * (u * w)) * ((1 - w) * (1 - w))
          = w * (1 - w) * ((1 - m) * (1 - m)) +
            (w - u * w) * (((1 - m * w) - m * (1 - w)) * ((1 - m * w) + m * (1 - w)))) by ring.
        assert (0 <= w * (1 - w) * ((1 - m) * (1 - m))) by (apply Rmult_le_pos; nra).
        assert (0 <= (w - u * w) * (((1 - m * w) - m * (1 - w)) * ((1 - m * w) + m * (1 - w)))).
        { apply Rmult_le_pos; [nra|]. apply Rmult_le_pos; nra. }
        lra. }
      assert (Q2 : k * m * ((1 - w) * (1 - w)) <= (1 - m * w) * (1 - m * w)).
      { apply Rmult_le_reg_r with (1 - u * w); [lra|].
        assert (k * (m * (1 - u * w)) * ((1 - w) * (1 - w)) <= (1 - m * m * (u * w)) * ((1 - w) * (1 - w)))
          by (apply Rmult_le_compat_r; nra). nra. }
      assert (Q3 : 0 <= (m * w) * (k * (2 - u - w) - 2 + m * w + u')).
      { assert (X : (m * w) * (k * (2 - u - w) - 2 + m * w) + (1 - k * (m * (1 - u * w)))
          = (1 - m * w) * (1 - m * w) - k * m * ((1 - w) * (1 - w))) by ring. lra. }
      assert (0 <= k * (2 - u - w) - 2 + m * w + u'); [|lra].
      apply Rmult_le_reg_l with (m * w); [apply Rmult_lt_0_compat; lra|]. lra.
  Qed.

  (** the new bin lies at or below 1 *)
  Lemma below u' v' : 0 < u' -> u' <= v' -> v' <= 1 -> / u' - / v' <= k * (/ u - w) ->
    v' - u' <= k * (2 - u - w).
  Proof.
    intros Hu' Huv Hv H. set (y := k * (/ u - w)) in *.
    assert (Ey : y * u = k * (1 - u * w)) by (unfold y; field; lra).
    assert (HQ : 0 < 1 - u * w) by nra.
    assert (Hy : 0 < y). { apply Rmult_lt_reg_r with u; [lra|]. nra. } clearbody y.
    assert (HD : v' - u' <= y * (u' * v')).
    { assert (v' - u' = (/ u' - / v') * (u' * v')) by (field; lra).
      assert (0 < u' * v') by (apply Rmult_lt_0_compat; lra). nra. }
    assert (H1 : (v' - u') * (1 + y) <= y).
    { assert (0 <= y * (1 - v')) by (apply Rmult_le_pos; lra).
      assert (0 <= y * (v' * (1 - v'))) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
      assert (0 <= y * (u' * (1 - v'))) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
      nra. }
    assert (H2 : y <= k * (2 - u - w) * (1 + y)).
    { apply Rmult_le_reg_r with u; [lra|].
      replace (k * (2 - u - w) * (1 + y) * u) with (k * (2 - u - w) * (u + y * u)) by ring.
      rewrite Ey.
      assert (X : (2 - u - w) * (u + (1 - u * w)) - (1 - u * w)
                  = (2 - u - w) * ((1 - w) * u) + (1 - u) * (1 - w)) by ring.
      assert (0 <= (2 - u - w) * ((1 - w) * u)) by (apply Rmult_le_pos; nra).
      assert (0 <= (1 - u) * (1 - w)) by (apply Rmult_le_pos; lra).
      assert (Y1 : 1 - u * w <= (2 - u - w) * (u + (1 - u * w))) by lra.
      assert (Y2 : (2 - u - w) * (u + (1 - u * w)) <= (2 - u - w) * (u + k * (1 - u * w)))
        by (apply Rmult_le_compat_l; nra).
      replace (k * (2 - u - w) * (u + k * (1 - u * w))) with (k * ((2 - u - w) * (u + k * (1 - u * w)))) by ring.
      apply Rmult_le_compat_l; lra. }
    apply Rmult_le_reg_r with (1 + y); lra.
  Qed.
End Algebra.

(** proven.md section 14: the centre lemma of the smoothed crossing. *)
Theorem centre_lemma k u v u' v' : 1 <= k -> 0 < u < v -> 0 < u' < v' ->
  v' - u' <= k * (v - u) -> / u' - / v' <= k * (/ u - / v) ->
  link v' - link u' <= k * (link v - link u).
Proof.
  intros Hk [Hu Huv] [Hu' Huv'] HX HY.
  pose proof (inv_mul u Hu). pose proof (inv_mul v ltac:(lra)).
  pose proof (inv_pos u Hu). pose proof (inv_pos v ltac:(lra)).
  pose proof (inv_mul u' Hu'). pose proof (inv_mul v' ltac:(lra)).
  pose proof (inv_pos u' Hu'). pose proof (inv_pos v' ltac:(lra)).
  assert (lip2 : link v' - link u' <= (/ u' - / v') / 2).
  { pose proof (link_lip (/ v') (/ u') ltac:(lra)) as L. rewrite !link_mirror in L by lra.
    assert (/ v' <= / u') by (apply Rinv_le_contravar; lra). specialize (L H7). lra. }
  destruct (Rle_dec v 1) as [c1|c1].
  { rewrite (link_lo v), (link_lo u) by lra. pose proof (link_lip u' v' Hu' ltac:(lra)). nra. }
  destruct (Rle_dec 1 u) as [c2|c2].
  { rewrite (link_hi v), (link_hi u) by lra. nra. }
  assert (Wv : 0 < / v < 1) by (split; [lra|]; nra).
  rewrite (link_hi v), (link_lo u) by lra.
  destruct (Rle_dec v' 1) as [c3|c3].
  { rewrite (link_lo v'), (link_lo u') by lra.
    pose proof (below k u (/ v) Hk ltac:(lra) Wv u' v' Hu' ltac:(lra) c3 HY). lra. }
  destruct (Rle_dec 1 u') as [c4|c4].
  { rewrite (link_hi v'), (link_hi u') by lra.
    pose proof (below k (/ v) u Hk Wv ltac:(lra) (/ v') (/ u') ltac:(lra)
       ltac:(apply Rinv_le_contravar; lra) ltac:(apply inv_le_1; lra)) as B.
    rewrite !Rinv_inv in B. specialize (B HX). lra. }
  rewrite (link_hi v'), (link_lo u') by lra.
  assert (e1 : v - u = (1 - u * / v) * v) by (field; lra).
  assert (e1' : v' - u' = (1 - u' * / v') * v') by (field; lra).
  assert (S1 : (1 - u' * / v') * / v <= k * (1 - u * / v) * / v').
  { apply Rmult_le_reg_r with (v * v'); [apply Rmult_lt_0_compat; lra|].
    replace ((1 - u' * / v') * / v * (v * v')) with (v' - u') by (field; lra).
    replace (k * (1 - u * / v) * / v' * (v * v')) with (k * (v - u)) by (field; lra). lra. }
  assert (S2 : (1 - / v' * u') * u <= k * (1 - / v * u) * u').
  { apply Rmult_le_reg_r with (/ u * / u'); [apply Rmult_lt_0_compat; lra|].
    replace ((1 - / v' * u') * u * (/ u * / u')) with (/ u' - / v') by (field; lra).
    replace (k * (1 - / v * u) * u' * (/ u * / u')) with (k * (/ u - / v)) by (field; lra). lra. }
  destruct (Rle_dec (/ v' * u) (u' * / v)) as [c|c].
  - pose proof (straddle_half k u (/ v) Hk ltac:(lra) Wv u' (/ v') Hu' ltac:(lra) c S1). lra.
  - pose proof (straddle_half k (/ v) u Hk Wv ltac:(lra) (/ v') u' ltac:(lra) Hu' ltac:(lra) S2). lra.
Qed.

(** ** The shift lemma *)
Lemma frac_le n n' D D' en ed c : 0 < n -> 0 < D -> n' <= exp en * n -> exp (- ed) * D <= D' ->
  en + ed <= c -> n' / D' <= exp c * (n / D).
Proof.
  intros Hn HD H1 H2 Hc. pose proof (exp_pos en). pose proof (exp_pos (- ed)).
  assert (P : 0 < exp (- ed) * D) by (apply Rmult_lt_0_compat; lra).
  assert (PD : 0 < D') by lra.
  assert (e : exp en * n = exp (en + ed) * n * exp (- ed)).
  { replace (exp en) with (exp (en + ed) * exp (- ed)); [ring|]. rewrite <- exp_plus. f_equal. ring. }
  assert (exp (en + ed) <= exp c).
  { destruct (Req_dec (en + ed) c) as [ -> | ]; [lra|]. left. apply exp_increasing. lra. }
  apply Rmult_le_reg_r with D'; auto. replace (n' / D' * D') with n' by (field; lra).
  assert (Q : 0 < n / D) by (apply Rdiv_lt_0_compat; lra).
  assert (exp (en + ed) * n * exp (- ed) = exp (en + ed) * (n / D) * (exp (- ed) * D)) by (field; lra).
  assert (exp (en + ed) * (n / D) * (exp (- ed) * D) <= exp c * (n / D) * D'); [|lra].
  pose proof (exp_pos (en + ed)). apply Rmult_le_compat; try lra.
  - apply Rmult_le_pos; lra.
  - apply Rmult_le_compat_r; lra.
Qed.

Section Crossing.
  Variable N : nat.                       (* number of cuts, at least 1 *)
  Hypothesis HN : (1 <= N)%nat.
  Variable eta : R.                       (* epsilon / 2 *)
  Hypothesis Heta : 0 <= eta.

  Definition L (l : nat -> R) t := sum l (seq 0 (S t)).
  Definition Rt (r : nat -> R) t := sum r (seq t (N - t)).
  Definition rho l r t := L l t / Rt r t.
  (** the law: P(answer <= t) = link (rho t) *)
  Definition cdf l r t := link (rho l r t).
  Definition bin l r j : R :=
    match j with
    | O => cdf l r 0
    | S a => if le_lt_dec N j then 1 - cdf l r a else cdf l r j - cdf l r a
    end.

  Lemma sum_pos (f : nat -> R) ls : ls <> [] -> (forall t, In t ls -> 0 < f t) -> 0 < sum f ls.
  Proof.
    destruct ls as [|a ls]; [tauto|]. intros _ H. simpl.
    assert (0 < f a) by (apply H; simpl; auto).
    assert (0 <= sum f ls) by (apply sum_nonneg; intros; left; apply H; simpl; auto). lra.
  Qed.
  Lemma L_pos l t : (forall i, (i < N)%nat -> 0 < l i) -> (t < N)%nat -> 0 < L l t.
  Proof.
    intros H Ht. apply sum_pos; [simpl; discriminate|]. intros i Hi. apply in_seq in Hi. apply H. lia.
  Qed.
  Lemma Rt_pos r t : (forall i, (i < N)%nat -> 0 < r i) -> (t < N)%nat -> 0 < Rt r t.
  Proof.
    intros H Ht. apply sum_pos.
    - destruct (N - t)%nat eqn:e; [lia|]. simpl. discriminate.
    - intros i Hi. apply in_seq in Hi. apply H. lia.
  Qed.
  Lemma L_S l t : L l (S t) = L l t + l (S t).
  Proof. unfold L. rewrite (seq_S (S t)), sum_app. simpl. lra. Qed.
  Lemma Rt_S r t : (S t < N)%nat -> Rt r t = r t + Rt r (S t).
  Proof.
    intros H. unfold Rt. replace (N - t)%nat with (S (N - S t)) by lia. reflexivity.
  Qed.

  Section Move.
    Variables l r h : nat -> R.
    Hypothesis Hl : forall i, (i < N)%nat -> 0 < l i.
    Hypothesis Hr : forall i, (i < N)%nat -> 0 < r i.
    Definition l' t := l t * exp (eta * h t).
    Definition r' t := r t * exp (- (eta * h t)).

    Lemma exp_le x y : x <= y -> exp x <= exp y.
    Proof. intros [H| -> ]; [left; now apply exp_increasing|lra]. Qed.
    Lemma Hl' : forall i, (i < N)%nat -> 0 < l' i.
    Proof. intros. apply Rmult_lt_0_compat; [auto|apply exp_pos]. Qed.
    Lemma Hr' : forall i, (i < N)%nat -> 0 < r' i.
    Proof. intros. apply Rmult_lt_0_compat; [auto|apply exp_pos]. Qed.

    Lemma sum_upper (f g : nat -> R) ls c : (forall t, In t ls -> 0 < f t /\ g t <= c) ->
      sum (fun t => f t * exp (g t)) ls <= exp c * sum f ls.
    Proof.
      induction ls as [|a ls IH]; simpl; intros H; [lra|].
      destruct (H a ltac:(auto)) as [P Q]. apply exp_le in Q.
      specialize (IH ltac:(auto)). nra.
    Qed.
    Lemma sum_lower (f g : nat -> R) ls c : (forall t, In t ls -> 0 < f t /\ c <= g t) ->
      exp c * sum f ls <= sum (fun t => f t * exp (g t)) ls.
    Proof.
      induction ls as [|a ls IH]; simpl; intros H; [lra|].
      destruct (H a ltac:(auto)) as [P Q]. apply exp_le in Q.
      specialize (IH ltac:(auto)). nra.
    Qed.
    Lemma L_up t m : (t < N)%nat -> (forall i, (i <= t)%nat -> h i <= m) -> L l' t <= exp (eta * m) * L l t.
    Proof.
      intros Ht H. apply (sum_upper l (fun i => eta * h i)). intros i Hi. apply in_seq in Hi.
      split; [apply Hl; lia|]. apply Rmult_le_compat_l; auto. apply H. lia.
    Qed.
    Lemma L_lo t n : (t < N)%nat -> (forall i, (i <= t)%nat -> n <= h i) -> exp (eta * n) * L l t <= L l' t.
    Proof.
      intros Ht H. apply (sum_lower l (fun i => eta * h i)). intros i Hi. apply in_seq in Hi.
      split; [apply Hl; lia|]. apply Rmult_le_compat_l; auto. apply H. lia.
    Qed.
    Lemma R_up t n : (forall i, (t <= i < N)%nat -> n <= h i) -> Rt r' t <= exp (- (eta * n)) * Rt r t.
    Proof.
      intros H. apply (sum_upper r (fun i => - (eta * h i))). intros i Hi. apply in_seq in Hi.
      split; [apply Hr; lia|]. apply Ropp_le_contravar. apply Rmult_le_compat_l; auto. apply H. lia.
    Qed.
    Lemma R_lo t m : (forall i, (t <= i < N)%nat -> h i <= m) -> exp (- (eta * m)) * Rt r t <= Rt r' t.
    Proof.
      intros H. apply (sum_lower r (fun i => - (eta * h i))). intros i Hi. apply in_seq in Hi.
      split; [apply Hr; lia|]. apply Ropp_le_contravar. apply Rmult_le_compat_l; auto. apply H. lia.
    Qed.

    Lemma exp2 a b x y : 0 <= x -> 0 <= y -> forall x' y', 0 <= x' -> 0 <= y' ->
      x' <= exp a * x -> y' <= exp b * y -> x' * y' <= exp (a + b) * (x * y).
    Proof.
      intros. rewrite exp_plus. pose proof (exp_pos a). pose proof (exp_pos b).
      replace (exp a * exp b * (x * y)) with ((exp a * x) * (exp b * y)) by ring.
      apply Rmult_le_compat; auto.
    Qed.
    Lemma exp2_lo a b x y x' y' : 0 <= x -> 0 <= y ->
      exp a * x <= x' -> exp b * y <= y' -> exp (a + b) * (x * y) <= x' * y'.
    Proof.
      intros. rewrite exp_plus. pose proof (exp_pos a). pose proof (exp_pos b).
      replace (exp a * exp b * (x * y)) with ((exp a * x) * (exp b * y)) by ring.
      apply Rmult_le_compat; auto; apply Rmult_le_pos; lra.
    Qed.

    (** X = v - u and Y = 1/u - 1/v for the bin between the cuts a and a+1 *)
    Lemma X_form (l0 r0 : nat -> R) a : (forall i, (i < N)%nat -> 0 < l0 i) -> (forall i, (i < N)%nat -> 0 < r0 i) ->
      (S a < N)%nat -> rho l0 r0 (S a) - rho l0 r0 a
        = l0 (S a) / Rt r0 (S a) + (L l0 a * r0 a) / (Rt r0 a * Rt r0 (S a)).
    Proof.
      intros P Q Ha. unfold rho. rewrite L_S. pose proof (Rt_pos r0 (S a) Q Ha) as R1.
      pose proof (Rt_pos r0 a Q ltac:(lia)) as R0. pose proof (Rt_S r0 a Ha) as e.
      replace (r0 a) with (Rt r0 a - Rt r0 (S a)) by lra. field. lra.
    Qed.
    Lemma Y_form (l0 r0 : nat -> R) a : (forall i, (i < N)%nat -> 0 < l0 i) -> (forall i, (i < N)%nat -> 0 < r0 i) ->
      (S a < N)%nat -> / rho l0 r0 a - / rho l0 r0 (S a)
        = r0 a / L l0 a + (l0 (S a) * Rt r0 (S a)) / (L l0 a * L l0 (S a)).
    Proof.
      intros P Q Ha. unfold rho. pose proof (Rt_pos r0 (S a) Q Ha) as R1.
      pose proof (Rt_pos r0 a Q ltac:(lia)) as R0. pose proof (Rt_S r0 a Ha) as e.
      pose proof (L_pos l0 a P ltac:(lia)) as L0. pose proof (L_pos l0 (S a) P Ha) as L1.
      pose proof (L_S l0 a) as f.
      replace (r0 a) with (Rt r0 a - Rt r0 (S a)) by lra.
      replace (l0 (S a)) with (L l0 (S a) - L l0 a) by lra. field. lra.
    Qed.

    (** proven.md section 14: the shift lemma of the smoothed crossing, from the four inequalities on h. *)
    Theorem shift_lemma a m1 m2 m3 n1 n2 n3 : (S a < N)%nat ->
      (forall i, (i <= a)%nat -> h i <= m1) ->
      (forall i, (S a <= i < N)%nat -> h i <= m2) ->
      (forall i, (a <= i < N)%nat -> h i <= m3) ->
      (forall i, (i <= a)%nat -> n1 <= h i) ->
      (forall i, (S a <= i < N)%nat -> n2 <= h i) ->
      (forall i, (i <= S a)%nat -> n3 <= h i) ->
      h (S a) + m2 <= 2 -> m1 + m2 + m3 - h a <= 2 ->
      - h a - n1 <= 2 -> h (S a) - n2 - n3 - n1 <= 2 ->
      rho l' r' (S a) - rho l' r' a <= exp (2 * eta) * (rho l r (S a) - rho l r a) /\
      / rho l' r' a - / rho l' r' (S a) <= exp (2 * eta) * (/ rho l r a - / rho l r (S a)).
    Proof.
      intros Ha M1 M2 M3 N1 N2 N3 C1 C2 C3 C4.
      pose proof Hl' as Pl. pose proof Hr' as Pr.
      rewrite !X_form, !Y_form by auto.
      pose proof (Rt_pos r (S a) Hr Ha). pose proof (Rt_pos r a Hr ltac:(lia)).
      pose proof (L_pos l (S a) Hl Ha). pose proof (L_pos l a Hl ltac:(lia)).
      pose proof (Rt_pos r' (S a) Pr Ha). pose proof (L_pos l' a Pl ltac:(lia)).
      pose proof (Hl (S a) Ha). pose proof (Hr a ltac:(lia)).
      pose proof (Pl (S a) Ha). pose proof (Pr a ltac:(lia)).
      pose proof (L_up a m1 ltac:(lia) M1) as LU. pose proof (R_lo (S a) m2 M2) as RL1.
      pose proof (R_lo a m3 M3) as RL0. pose proof (L_lo a n1 ltac:(lia) N1) as LL0.
      pose proof (R_up (S a) n2 N2) as RU. pose proof (L_lo (S a) n3 Ha N3) as LL1.
      rewrite !Rmult_plus_distr_l. split; apply Rplus_le_compat.
      - apply frac_le with (en := eta * h (S a)) (ed := eta * m2); auto; [unfold l'; lra|nra].
      - apply frac_le with (en := eta * m1 + - (eta * h a)) (ed := eta * m3 + eta * m2).
        + apply Rmult_lt_0_compat; auto.
        + apply Rmult_lt_0_compat; auto.
        + apply exp2; try lra. unfold r'. lra.
        + replace (- (eta * m3 + eta * m2)) with (- (eta * m3) + - (eta * m2)) by ring.
          apply exp2_lo; lra.
        + nra.
      - apply frac_le with (en := - (eta * h a)) (ed := - (eta * n1)); auto; [unfold r'; lra| |nra].
        rewrite Ropp_involutive. auto.
      - apply frac_le with (en := eta * h (S a) + - (eta * n2)) (ed := - (eta * n1) + - (eta * n3)).
        + apply Rmult_lt_0_compat; auto.
        + apply Rmult_lt_0_compat; auto.
        + apply exp2; try lra. unfold l'. lra.
        + replace (- (- (eta * n1) + - (eta * n3))) with (eta * n1 + eta * n3) by ring.
          apply exp2_lo; lra.
        + nra.
    Qed.

    (** ** Moves: |h| <= 1, and monotone, or of one sign with one peak *)
    Definition bounded := forall i, (i < N)%nat -> -1 <= h i <= 1.
    Definition rising := forall i j, (i <= j < N)%nat -> h i <= h j.
    Definition falling := forall i j, (i <= j < N)%nat -> h j <= h i.
    Definition peak := exists c, (forall i j, (i <= j <= c)%nat -> (j < N)%nat -> h i <= h j) /\
                                 (forall i j, (c <= i <= j)%nat -> (j < N)%nat -> h j <= h i).
    Definition valley := exists c, (forall i j, (i <= j <= c)%nat -> (j < N)%nat -> h j <= h i) /\
                                   (forall i j, (c <= i <= j)%nat -> (j < N)%nat -> h i <= h j).
    Definition move := bounded /\
      (rising \/ falling \/ ((forall i, (i < N)%nat -> 0 <= h i) /\ peak)
                        \/ ((forall i, (i < N)%nat -> h i <= 0) /\ valley)).

    Lemma four a : (S a < N)%nat -> move ->
      rho l' r' (S a) - rho l' r' a <= exp (2 * eta) * (rho l r (S a) - rho l r a) /\
      / rho l' r' a - / rho l' r' (S a) <= exp (2 * eta) * (/ rho l r a - / rho l r (S a)).
    Proof.
      intros Ha [B [M|[M|[[P [c [M1 M2]]]|[P [c [M1 M2]]]]]]].
      - apply (shift_lemma a (h a) 1 1 (-1) (h (S a)) (-1)); auto; try (intros; apply B; lia); try (intros; apply M; lia);
          pose proof (B a ltac:(lia)); pose proof (B (S a) Ha); lra.
      - apply (shift_lemma a 1 (h (S a)) (h a) (h a) (-1) (h (S a))); auto; try (intros; apply B; lia); try (intros; apply M; lia);
          pose proof (B a ltac:(lia)); pose proof (B (S a) Ha); lra.
      - pose proof (B a ltac:(lia)). pose proof (B (S a) Ha). pose proof (P a ltac:(lia)). pose proof (P (S a) Ha).
        destruct (le_lt_dec a c) as [e|e].
        + apply (shift_lemma a (h a) 1 1 0 0 0); auto; try (intros; apply B; lia); try (intros; apply M1; lia); try (intros; apply P; lia); lra.
        + apply (shift_lemma a 1 1 (h a) 0 0 0); auto; try (intros; apply B; lia); try (intros; apply M2; lia); try (intros; apply P; lia); lra.
      - pose proof (B a ltac:(lia)). pose proof (B (S a) Ha). pose proof (P a ltac:(lia)). pose proof (P (S a) Ha).
        destruct (le_lt_dec (S a) c) as [e|e].
        + apply (shift_lemma a 0 0 0 (-1) (-1) (h (S a))); auto; try (intros; apply B; lia); try (intros; apply M1; lia); try (intros; apply P; lia); lra.
        + apply (shift_lemma a 0 0 0 (-1) (h (S a)) (-1)); auto; try (intros; apply B; lia); try (intros; apply M2; lia); try (intros; apply P; lia); lra.
    Qed.

    (** the two outer bins need |h| <= 1 alone *)
    Lemma rho_first : bounded -> rho l' r' 0 <= exp (2 * eta) * rho l r 0.
    Proof.
      intros B. unfold rho. apply frac_le with (en := eta * h 0%nat) (ed := eta * 1).
      - apply L_pos; auto.
      - apply Rt_pos; auto.
      - apply L_up; [lia|]. intros i Hi. replace i with 0%nat by lia. lra.
      - apply R_lo. intros i Hi. apply B. lia.
      - pose proof (B 0%nat ltac:(lia)). nra.
    Qed.
    Lemma rho_last : bounded -> / rho l' r' (N - 1) <= exp (2 * eta) * / rho l r (N - 1).
    Proof.
      intros B. unfold rho. pose proof Hl' as Pl. pose proof Hr' as Pr.
      pose proof (L_pos l' (N - 1) Pl ltac:(lia)). pose proof (Rt_pos r' (N - 1) Pr ltac:(lia)).
      pose proof (L_pos l (N - 1) Hl ltac:(lia)). pose proof (Rt_pos r (N - 1) Hr ltac:(lia)).
      replace (/ (L l' (N - 1) / Rt r' (N - 1))) with (Rt r' (N - 1) / L l' (N - 1)) by (field; lra).
      replace (/ (L l (N - 1) / Rt r (N - 1))) with (Rt r (N - 1) / L l (N - 1)) by (field; lra).
      apply frac_le with (en := - (eta * h (N - 1)%nat)) (ed := - (eta * -1)); auto.
      - apply R_up. intros i Hi. replace i with (N - 1)%nat by lia. lra.
      - rewrite Ropp_involutive. apply L_lo; [lia|]. intros i Hi. apply B. lia.
      - pose proof (B (N - 1)%nat ltac:(lia)). nra.
    Qed.

    (** proven.md section 14: the smoothed crossing is epsilon-DP for monotone moves and for one-signed moves with one peak. *)
    Theorem crossing_private : move -> forall j, (j <= N)%nat -> bin l' r' j <= exp (2 * eta) * bin l r j.
    Proof.
      intros Mv j Hj. pose proof Hl' as Pl. pose proof Hr' as Pr. assert (B := proj1 Mv).
      assert (K : 1 <= exp (2 * eta)) by (rewrite <- exp_0; apply exp_le; lra).
      assert (RP : forall t, (t < N)%nat -> 0 < rho l r t) by (intros; apply Rdiv_lt_0_compat; [apply L_pos|apply Rt_pos]; auto).
      assert (RP' : forall t, (t < N)%nat -> 0 < rho l' r' t) by (intros; apply Rdiv_lt_0_compat; [apply L_pos|apply Rt_pos]; auto).
      unfold bin, cdf. destruct j as [|a].
      - eapply Rle_trans; [apply link_mono; [apply RP'; lia|now apply rho_first]|].
        apply link_scale; [auto|apply RP; lia].
      - destruct (le_lt_dec N (S a)) as [e|e].
        + replace a with (N - 1)%nat by lia. rewrite <- !link_mirror by (try apply RP; try apply RP'; lia).
          eapply Rle_trans; [apply link_mono; [apply inv_pos, RP'; lia|now apply rho_last]|].
          apply link_scale; [auto|apply inv_pos, RP; lia].
        + destruct (four a e Mv) as [X Y].
          apply centre_lemma; auto.
          * split; [apply RP; lia|]. assert (0 < rho l r (S a) - rho l r a); [|lra].
            rewrite X_form by auto. apply Rplus_lt_0_compat; apply Rdiv_lt_0_compat; auto;
              try apply Rmult_lt_0_compat; try apply Rt_pos; try apply L_pos; auto; try lia; apply Hr; lia.
          * split; [apply RP'; lia|]. assert (0 < rho l' r' (S a) - rho l' r' a); [|lra].
            rewrite X_form by auto. apply Rplus_lt_0_compat; apply Rdiv_lt_0_compat; auto;
              try apply Rmult_lt_0_compat; try apply Rt_pos; try apply L_pos; auto; try lia; apply Pr; lia.
    Qed.
  End Move.
End Crossing.
