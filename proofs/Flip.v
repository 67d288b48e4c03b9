(** FLIP (docs/quantiles.md; docs/proven.md, section 8).

    Each wrong answer j gets x^(d_j)/(1 + x), where d_j is the number of people who would have to change to
    make it true and x = e^(-epsilon). The truth gets the rest. With K answers this is private if
    (K - 1) x <= 1 and a move changes every d_j by at most one. *)
Require Import Reals Lra Lia Psatz List Bool Arith.
Require Import DP.StepFunction.
Import ListNotations.
Open Scope R_scope.

Section Flip.
  Context {A : Type}.
  Variable eqd : forall a b : A, {a = b} + {a <> b}.
  Variable ans : list A.
  Hypothesis ND : NoDup ans.
  Variable x : R.
  Hypothesis Hx : 0 < x <= 1.
  Hypothesis rule : INR (length ans - 1) * x <= 1.
  Definition c := / (1 + x).

  Record state (t : A) (d : A -> nat) : Prop := {
    st_in : In t ans; st_0 : d t = 0%nat; st_pos : forall j, In j ans -> j <> t -> (1 <= d j)%nat }.
  Definition wrong (t : A) (d : A -> nat) j := if eqd j t then 0 else c * x ^ d j.
  Definition W t d := sum (wrong t d) ans.
  Definition flip t d j := if eqd j t then 1 - W t d else c * x ^ d j.

  Lemma c_eq : c * (1 + x) = 1.
  Proof. unfold c. field. lra. Qed.
  Lemma c_pos : 0 < c.
  Proof. unfold c. apply Rinv_0_lt_compat. lra. Qed.
  Lemma pow_pos n : 0 < x ^ n.
  Proof. apply pow_lt. lra. Qed.
  Lemma pow_anti n k : (n <= k)%nat -> x ^ k <= x ^ n.
  Proof.
    intros H. induction H as [|k H IH]; [lra|]. simpl. pose proof (pow_pos k). nra.
  Qed.
  Lemma sum_const_except t l v : 0 <= v -> NoDup l -> In t l ->
    sum (fun j => if eqd j t then 0 else v) l = INR (length l - 1) * v.
  Proof.
    intros Hv. induction l as [|a l IH]; intros N I; [destruct I|]. inversion N; subst. simpl length.
    replace (S (length l) - 1)%nat with (length l) by lia. simpl sum. destruct (eqd a t) as [->|ne].
    - rewrite (sum_ext _ (fun _ => v)).
      + clear. induction l as [|b l IH]; [simpl; lra|]. simpl length. rewrite S_INR. simpl sum. lra.
      + intros j Hj. destruct (eqd j t); congruence.
    - destruct I as [I|I]; [congruence|]. rewrite IH by auto.
      assert (L : (1 <= length l)%nat) by (destruct l; simpl in *; [tauto|lia]).
      rewrite minus_INR by auto. simpl. lra.
  Qed.
  Lemma W_nonneg t d : 0 <= W t d.
  Proof.
    apply sum_nonneg. intros j _. unfold wrong. destruct (eqd j t); [lra|]. pose proof c_pos. pose proof (pow_pos (d j)). nra.
  Qed.
  Lemma W_le t d : state t d -> W t d <= c.
  Proof.
    intros [I Z P]. pose proof c_pos. assert (W t d <= sum (fun j => if eqd j t then 0 else c * x) ans).
    { apply sum_le. intros j Hj. unfold wrong. destruct (eqd j t) as [|n]; [lra|].
      pose proof (pow_anti 1 (d j) (P j Hj n)). simpl in H0. nra. }
    rewrite sum_const_except in H0; auto; nra.
  Qed.
  Lemma sum_one (f : A -> R) l j : (forall a, In a l -> 0 <= f a) -> In j l -> f j <= sum f l.
  Proof.
    induction l as [|a l IH]; simpl; intros H I; [tauto|]. destruct I as [ -> | I].
    - assert (0 <= sum f l) by (apply sum_nonneg; auto). lra.
    - assert (0 <= f a) by auto. specialize (IH ltac:(auto) I). lra.
  Qed.

  (** proven.md section 8: FLIP is epsilon-DP where (K - 1) e^(-epsilon) <= 1. *)
  Theorem flip_private t d t' d' : state t d -> state t' d' ->
    (forall j, In j ans -> (d' j <= d j + 1 /\ d j <= d' j + 1)%nat) ->
    forall j, In j ans -> x * flip t' d' j <= flip t d j.
  Proof.
    intros S S' M j Hj. pose proof c_eq. pose proof c_pos. pose proof (W_le t d S). pose proof (W_le t' d' S').
    destruct S as [I Z P], S' as [I' Z' P']. unfold flip.
    destruct (eqd j t') as [->|n']; destruct (eqd t' t) as [e|ne]; try subst t'.
    - destruct (eqd t t); [|congruence].
      assert (K : x * W t d <= W t d').
      { unfold W. assert (X : forall l, (forall a, In a l -> In a ans) -> x * sum (wrong t d) l <= sum (wrong t d') l).
        { induction l as [|a l IH]; intros Hl; simpl; [lra|]. specialize (IH ltac:(intros; apply Hl; simpl; auto)).
          assert (x * wrong t d a <= wrong t d' a); [|lra]. unfold wrong. destruct (eqd a t); [lra|].
          destruct (M a (Hl a ltac:(simpl; auto))) as [M1 M2]. pose proof (pow_anti (d' a) (d a + 1) ltac:(lia)) as Q.
          replace (d a + 1)%nat with (Datatypes.S (d a)) in Q by lia. simpl in Q. nra. }
        apply X; auto. }
      assert (Q1 : c * (1 - x * x) = 1 - x) by (replace (c * (1 - x * x)) with (c * (1 + x) * (1 - x)) by ring; rewrite H; ring).
      assert (Q2 : W t d * (1 - x * x) <= c * (1 - x * x)) by (apply Rmult_le_compat_r; nra).
      assert (Q3 : x * (x * W t d) <= x * W t d') by (apply Rmult_le_compat_l; lra).
      lra.
    - destruct (eqd t' t); [congruence|].
      (* t' true there, wrong here: d t' = 1 *)
      assert (D1 : d t' = 1%nat) by (pose proof (P t' Hj ne); pose proof (M t' Hj); lia). rewrite D1. simpl.
      assert (D2 : d' t = 1%nat) by (pose proof (P' t I ltac:(congruence)); pose proof (M t I); lia).
      assert (c * x <= W t' d').
      { assert (Q : wrong t' d' t = c * x) by (unfold wrong; destruct (eqd t t'); [congruence|]; rewrite D2; simpl; lra).
        rewrite <- Q. apply sum_one; auto. intros a _. unfold wrong. destruct (eqd a t'); [lra|].
        pose proof (pow_pos (d' a)). nra. }
      nra.
    - destruct (eqd j t); [congruence|]. destruct (M j Hj) as [M1 M2].
      pose proof (pow_anti (d j) (Datatypes.S (d' j)) ltac:(lia)) as Q1. simpl in Q1.
      nra.
    - destruct (eqd j t) as [->|nj].
      + assert (D2 : d' t = 1%nat) by (pose proof (P' t I n'); pose proof (M t I); lia). rewrite D2. simpl. nra.
      + destruct (M j Hj) as [M1 M2].
        pose proof (pow_anti (d j) (Datatypes.S (d' j)) ltac:(lia)) as Q1. simpl in Q1. nra.
  Qed.
End Flip.
