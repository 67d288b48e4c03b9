(** Sums: the discrete staircase (docs/proven.md, section 14).

    One person moves the sum by at most Delta. The level of an error counts the jumps r, r + Delta,
    r + 2 Delta, ... at or below its size, so a shift by at most Delta changes the level by at most one. *)
Require Import Reals Lra Lia ZArith.
Open Scope Z_scope.

Section Staircase.
  Variables Delta r : Z.
  Hypothesis Hr : 1 <= r <= Delta.
  Definition level (i : Z) : Z := Z.abs i / Delta + (if r <=? Z.abs i mod Delta then 1 else 0).

  Lemma level_nonneg i : 0 <= level i.
  Proof.
    unfold level. assert (0 <= Z.abs i / Delta) by (apply Z.div_pos; lia). destruct (r <=? _); lia.
  Qed.
  (** the level is the number of jumps r, r + Delta, r + 2 Delta, .. at or below |i| *)
  Lemma level_jumps i : level i = (Z.abs i + Delta - r) / Delta.
  Proof.
    unfold level. pose proof (Z.div_mod (Z.abs i) Delta ltac:(lia)) as E.
    pose proof (Z.mod_pos_bound (Z.abs i) Delta ltac:(lia)) as B.
    set (q := Z.abs i / Delta) in *. set (m := Z.abs i mod Delta) in *.
    destruct (Z.leb_spec r m).
    - apply Z.div_unique with (m - r); lia.
    - apply Z.div_unique with (m + Delta - r); lia.
  Qed.
  Theorem level_lipschitz i j : Z.abs (i - j) <= Delta -> level i <= level j + 1.
  Proof.
    intros H. rewrite !level_jumps.
    rewrite <- (Z.div_add (Z.abs j + Delta - r) 1 Delta) by lia.
    apply Z.div_le_mono; lia.
  Qed.
End Staircase.

Open Scope R_scope.
(** proven.md section 14: the staircase is epsilon-DP for a number that one person moves by at most Delta. *)
Theorem staircase_private Delta r b C : (1 <= r <= Delta)%Z -> 0 < b <= 1 -> 0 < C ->
  forall z y y', (Z.abs (y - y') <= Delta)%Z ->
  b * (b ^ Z.to_nat (level Delta r (z - y)) / C) <= b ^ Z.to_nat (level Delta r (z - y')) / C.
Proof.
  intros Hr Hb HC z y y' H.
  assert (L : (level Delta r (z - y') <= level Delta r (z - y) + 1)%Z) by (apply level_lipschitz; lia).
  pose proof (level_nonneg Delta r Hr (z - y)). pose proof (level_nonneg Delta r Hr (z - y')).
  set (n := Z.to_nat (level Delta r (z - y))). set (k := Z.to_nat (level Delta r (z - y'))).
  assert (K : (k <= S n)%nat) by (unfold k, n; lia).
  assert (P : b ^ S n <= b ^ k).
  { clearbody n k. induction K as [|m K IH]; [lra|]. simpl in *. assert (0 < b ^ m) by (apply pow_lt; lra). nra. }
  unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. apply P.
Qed.
