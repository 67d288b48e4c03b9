(** Two answers, a level per edge, any fixed values (docs/proven.md, section 5).

    The search gives every dataset a label: the least bound that the paths from fixed datasets impose.
    The labels enter the proof by what the certificate of the search says of them: no edge is violated,
    no fixed value is exceeded, and every label is the bound along some path, or 1. So the proof does
    not depend on how the search works. *)
Require Import Reals Lra Psatz Bool.
Require Import DP.StepFunction.
Open Scope R_scope.

Section Two.
  Context {V : Type}.
  Variable edge : V -> V -> (R -> R) -> Prop.
  (** edges may be directed: the way back has a step function of its own, the dual of the way there *)
  Hypothesis edge_back : forall u v G, edge u v G -> exists G', edge v u G' /\ dual G' G.
  Hypothesis edge_step : forall u v G, edge u v G -> step G.
  Variable fixed : V -> Prop.
  Hypothesis fixed_dec : forall v, {fixed v} + {~ fixed v}.
  Variable val : V -> R.
  Variable truth : V -> bool.                      (* true: answer 1 *)

  (** p v = P(answer 1) at v *)
  Definition law (p : V -> R) := forall v, 0 <= p v <= 1.
  Definition private (p : V -> R) := forall u v G, edge u v G -> p v <= G (p u).
  Definition extends (f p : V -> R) := forall v, fixed v -> p v = f v.

  Inductive label (f : V -> R) : V -> R -> Prop :=
  | label_fixed v : fixed v -> label f v (f v)
  | label_edge u v G x : label f u x -> edge u v G -> label f v (G x).
  Record labels (f A : V -> R) : Prop := {
    lab_range : law A;
    lab_edge : private A;
    lab_fixed : forall v, fixed v -> A v <= f v;
    lab_tight : forall v, label f v (A v) \/ A v = 1 }.

  Definition other (p : V -> R) v := 1 - p v.
  (** upper bounds in both directions are all of privacy *)
  Lemma private_other p : law p -> private p -> private (other p).
  Proof.
    intros L H u v G e. unfold other. destruct (edge_back _ _ _ e) as (G' & e' & D).
    apply D; [apply L|apply L|]. now apply H.
  Qed.
  Lemma law_other p : law p -> law (other p).
  Proof. intros L v. specialize (L v). unfold other. lra. Qed.

  Lemma label_bound f p : (forall v, fixed v -> 0 <= f v <= 1) -> law p -> private p -> extends f p ->
    forall v x, label f v x -> p v <= x /\ 0 <= x <= 1.
  Proof.
    intros Hf L P X v x H. induction H as [v Hv|u v G x H [IH1 IH2] e].
    - rewrite X; auto. specialize (Hf v Hv). lra.
    - destruct (edge_step _ _ _ e) as [T1 T2]. pose proof (T1 x IH2). split; [|lra].
      eapply Rle_trans; [apply (P u v G e)|]. apply T2; try lra. apply L.
  Qed.
  Lemma upper f A p : (forall v, fixed v -> 0 <= f v <= 1) -> labels f A -> law p -> private p -> extends f p ->
    forall v, p v <= A v.
  Proof.
    intros Hf [_ _ _ T] L P X v. destruct (T v) as [H| ->]; [|apply L].
    now apply (label_bound f p Hf L P X).
  Qed.

  Hypothesis val_range : forall v, fixed v -> 0 <= val v <= 1.
  Variables A A' : V -> R.
  Hypothesis HA : labels val A.
  Hypothesis HA' : labels (other val) A'.

  Lemma other_range : forall v, fixed v -> 0 <= other val v <= 1.
  Proof. intros v H. unfold other. specialize (val_range v H). lra. Qed.

  (** proven.md section 5, Theorem 4: a private extension exists if and only if A(u) = p(u) and A'(u) = 1 - p(u) on S. *)
  Theorem theorem_4_feasible :
    (exists p, law p /\ private p /\ extends val p) <->
    (forall v, fixed v -> A v = val v /\ A' v = 1 - val v).
  Proof.
    split.
    - intros (p & L & P & X) v Hv.
      pose proof (upper val A p val_range HA L P X v). pose proof (lab_fixed _ _ HA v Hv).
      assert (X' : extends (other val) (other p)) by (intros w Hw; unfold other; rewrite X; auto).
      pose proof (upper (other val) A' (other p) other_range HA' (law_other p L) (private_other p L P) X' v).
      pose proof (lab_fixed _ _ HA' v Hv). rewrite (X v Hv) in *. unfold other in *. rewrite (X v Hv) in *. lra.
    - intros H. exists A. split; [apply HA|]. split; [apply HA|]. intros v Hv. now apply H.
  Qed.

  Definition candidate v := if truth v then A v else 1 - A' v.
  Definition better (p p' : V -> R) := forall v, if truth v then p' v <= p v else p v <= p' v.
  Definition optimum o := law o /\ private o /\ extends val o /\
    forall p, law p -> private p -> extends val p -> better o p.

  Hypothesis feasible : exists p, law p /\ private p /\ extends val p.

  Lemma candidate_law : law candidate.
  Proof.
    intros v. unfold candidate. pose proof (lab_range _ _ HA v). pose proof (lab_range _ _ HA' v).
    destruct (truth v); lra.
  Qed.
  Lemma candidate_extends : extends val candidate.
  Proof.
    intros v Hv. pose proof (proj1 theorem_4_feasible feasible v Hv). unfold candidate. destruct (truth v); lra.
  Qed.
  Lemma second_private : private (other A') /\ law (other A') /\ extends val (other A').
  Proof.
    split; [apply private_other; apply HA'|]. split; [apply law_other; apply HA'|].
    intros v Hv. pose proof (proj1 theorem_4_feasible feasible v Hv). unfold other. lra.
  Qed.

  (** proven.md section 5, Theorem 4: only edges between free datasets of different truth need a check. *)
  Theorem theorem_4_private :
    (forall u v G, edge u v G -> ~ fixed u -> ~ fixed v -> truth u <> truth v -> candidate v <= G (candidate u)) ->
    private candidate.
  Proof.
    intros H u v G e. destruct second_private as (P2 & L2 & X2).
    pose proof (proj1 theorem_4_feasible feasible) as FX.
    destruct (bool_dec (truth u) (truth v)) as [t|t].
    - unfold candidate. rewrite t. destruct (truth v); [now apply HA|now apply (P2 u v G)].
    - destruct (fixed_dec u) as [fu|fu].
      + unfold candidate. specialize (FX u fu). destruct (truth u), (truth v); try congruence.
        * replace (A u) with (1 - A' u) by lra. now apply (P2 u v G).
        * replace (1 - A' u) with (A u) by lra. now apply HA.
      + destruct (fixed_dec v) as [fv|fv]; [|now apply H].
        unfold candidate. specialize (FX v fv). destruct (truth u), (truth v); try congruence.
        * replace (1 - A' v) with (A v) by lra. now apply HA.
        * replace (A v) with (1 - A' v) by lra. now apply (P2 u v G).
  Qed.
  (** proven.md section 5, Theorem 4: if S meets every edge between the two regions, the candidate is private. *)
  Corollary theorem_4_every_edge_met : (forall u v G, edge u v G -> truth u <> truth v -> fixed u \/ fixed v) -> private candidate.
  Proof. intros H. apply theorem_4_private. intros u v G e fu fv t. destruct (H u v G e t); tauto. Qed.

  (** proven.md section 5, Theorem 4: the candidate is the optimum if it is private. *)
  Theorem theorem_4_optimal : private candidate -> optimum candidate.
  Proof.
    intros P. split; [apply candidate_law|]. split; auto. split; [apply candidate_extends|].
    intros p L Pp X v. unfold candidate. pose proof (upper val A p val_range HA L Pp X v).
    assert (X' : extends (other val) (other p)) by (intros w Hw; unfold other; rewrite X; auto).
    pose proof (upper (other val) A' (other p) other_range HA' (law_other p L) (private_other p L Pp) X' v) as U.
    unfold other in U. destruct (truth v); lra.
  Qed.
  (** proven.md section 5, Theorem 4: otherwise no optimum exists. *)
  Theorem theorem_4_no_other_optimum o : optimum o -> (forall v, o v = candidate v) /\ private candidate.
  Proof.
    intros (L & P & X & B).
    assert (E : forall v, o v = candidate v).
    { intros v. unfold candidate.
      destruct second_private as (P2 & L2 & X2).
      assert (XA : extends val A) by (intros w Hw; now apply theorem_4_feasible).
      pose proof (B A (lab_range _ _ HA) (lab_edge _ _ HA) XA v) as B1. pose proof (B (other A') L2 P2 X2 v) as B2.
      pose proof (upper val A o val_range HA L P X v).
      assert (X' : extends (other val) (other o)) by (intros w Hw; unfold other; rewrite X; auto).
      pose proof (upper (other val) A' (other o) other_range HA' (law_other o L) (private_other o L P) X' v) as U.
      unfold other in *. destruct (truth v); lra. }
    split; auto. intros u v G e. rewrite <- !E. now apply P.
  Qed.
End Two.
