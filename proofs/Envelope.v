(** More than two answers, a level per edge: the envelope (docs/proven.md, section 6).

    Every path from a fixed dataset bounds every event at its end. The envelope has, at each dataset and for
    each prefix of its preference, the bound of some path, or 1. It bounds every private mechanism with
    the fixed rows; so if the envelope is a private mechanism itself, it is the optimum, and the only one. *)
Require Import Reals Lra List Permutation Arith Lia.
Require Import DP.StepFunction DP.OneLevel.
Open Scope R_scope.

Section Envelope.
  Context {V A : Type}.
  Variable eqd : forall x y : A, {x = y} + {x <> y}.
  Variable ans : list A.
  Variable edge : V -> V -> (R -> R) -> Prop.
  Hypothesis edge_step : forall u v G, edge u v G -> step G.
  Variable fixed : V -> Prop.
  Variable row : V -> A -> R.                     (* the rows of the fixed datasets *)
  Hypothesis row_dist : forall v, fixed v -> dist (row v) ans.
  Variable pref : V -> list A.
  Hypothesis pref_perm : forall v, Permutation ans (pref v).
  Hypothesis ans_nodup : NoDup ans.

  (** a private mechanism with the fixed rows *)
  Definition admissible (M : V -> A -> R) := (forall v, dist (M v) ans) /\
    (forall u v G, edge u v G -> forall S, pr (M v) ans S <= G (pr (M u) ans S)) /\
    (forall v, fixed v -> forall a, In a ans -> M v a = row v a).
  (** the bounds of the paths from fixed datasets, for one event *)
  Inductive path_bound (S : A -> bool) : V -> R -> Prop :=
  | bound_fixed v : fixed v -> path_bound S v (pr (row v) ans S)
  | bound_edge u v G x : path_bound S u x -> edge u v G -> path_bound S v (G x).
  Definition is_envelope (M : V -> A -> R) := forall v k, (1 <= k <= length (pref v))%nat ->
    path_bound (memb eqd (firstn k (pref v))) v (pre (M v) (pref v) k) \/ pre (M v) (pref v) k = 1.
  Definition better_everywhere (M M' : V -> A -> R) := forall v k, (1 <= k <= length (pref v))%nat ->
    pre (M' v) (pref v) k <= pre (M v) (pref v) k.

  Lemma path_bound_holds M S v x : admissible M -> path_bound S v x -> pr (M v) ans S <= x /\ 0 <= x <= 1.
  Proof.
    intros (D & P & X) H. induction H as [v Hv|u v G x H [IH1 IH2] e].
    - pose proof (pr_range (row v) ans S (row_dist v Hv)). rewrite (pr_ext (M v) (row v)); [lra|]. now apply X.
    - destruct (edge_step _ _ _ e) as [T1 T2]. pose proof (T1 x IH2). split; [|lra].
      eapply Rle_trans; [apply (P u v G e)|]. apply T2; try lra. now apply pr_range.
  Qed.
  Lemma prefix_pr M v k : pre (M v) (pref v) k = pr (M v) ans (memb eqd (firstn k (pref v))).
  Proof.
    rewrite <- (prefix_event eqd); [|apply Permutation_NoDup with ans; auto]. symmetry. now apply pr_perm.
  Qed.

  (** proven.md section 6, Theorem 5: if the envelope is private on every edge, it is the optimum. *)
  Theorem theorem_5_envelope M : admissible M -> is_envelope M -> forall M', admissible M' -> better_everywhere M M'.
  Proof.
    intros HM E M' H' v k Hk. destruct (E v k Hk) as [B| ->].
    - rewrite (prefix_pr M'). now apply (path_bound_holds M' _ v).
    - rewrite prefix_pr. apply pr_range. apply H'.
  Qed.
  (** proven.md section 6, Theorem 5: no other mechanism is an optimum. *)
  Theorem theorem_5_only M O : admissible M -> is_envelope M -> admissible O ->
    (forall M', admissible M' -> better_everywhere O M') -> forall v a, In a ans -> O v a = M v a.
  Proof.
    intros HM E HO B v a Ha. apply (pre_eq _ _ (pref v)).
    - intros k Hk. apply Rle_antisym; [now apply (theorem_5_envelope M HM E O HO)|now apply (B M HM)].
    - apply Permutation_in with ans; auto.
  Qed.
End Envelope.
