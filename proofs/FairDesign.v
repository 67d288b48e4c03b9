(** The certificate of the fair design for two answers (docs/proven.md, section 5).

    t(v) is the probability of the true answer. The certificate gives an order of settling and a reason
    for every dataset: the same truth as an earlier u, across the boundary from an earlier u, a pair that
    settled together, sure, or given by fixed values. Each reason is an upper bound U(v), computed from
    earlier datasets alone. A mechanism that gives v more than U(v) must have given less to a dataset
    that has at most as much as v. No equality of numbers is tested, so rounded designs can be
    certified: nothing dominates them by more than the gap between U and t. *)
Require Import Reals Lra Lia Psatz Bool Arith.
Require Import DP.StepFunction DP.TwoAnswers.
Open Scope R_scope.

Section Fair.
  Context {V : Type}.
  Variable edge : V -> V -> (R -> R) -> Prop.
  Hypothesis edge_back : forall u v G, edge u v G -> exists G', edge v u G' /\ dual G' G.
  Hypothesis edge_step : forall u v G, edge u v G -> step G.
  Variable truth : V -> bool.
  (** the mechanisms that compete: private, and with the fixed values, if any are fixed *)
  Variable competes : (V -> R) -> Prop.
  Hypothesis competes_law : forall p, competes p -> law p.
  Hypothesis competes_private : forall p, competes p -> private edge p.

  (** the probability of the true answer, from p = P(answer 1) *)
  Definition chance (p : V -> R) v := if truth v then p v else 1 - p v.

  Lemma chance_range p v : law p -> 0 <= chance p v <= 1.
  Proof. intros L. specialize (L v). unfold chance. destruct (truth v); lra. Qed.
  Lemma same_bound p u v G : law p -> private edge p -> edge u v G -> truth u = truth v ->
    chance p v <= G (chance p u).
  Proof.
    intros L P e s. unfold chance. rewrite s. destruct (truth v); [now apply P|].
    now apply (private_other edge edge_back p L P u v G).
  Qed.
  Lemma across_bound p u v G : law p -> private edge p -> edge u v G -> truth u <> truth v ->
    chance p v <= G (1 - chance p u).
  Proof.
    intros L P e s. unfold chance. destruct (truth u), (truth v); try congruence.
    - pose proof (private_other edge edge_back p L P u v G e) as K. unfold other in K. exact K.
    - replace (1 - (1 - p u)) with (p u) by lra. now apply P.
  Qed.

  (** *** The certificate *)
  Variable t : V -> R.                     (* the design that is certified *)
  Hypothesis t_range : forall v, 0 <= t v <= 1.
  Variable rank : V -> nat.                (* the order of settling; a pair shares its rank *)
  Variable U : V -> R.
  Inductive reason (v : V) : Prop :=
  | Same u G : edge u v G -> truth u = truth v -> (rank u < rank v)%nat -> t u <= t v -> G (U u) <= U v -> reason v
  | Across u G : edge u v G -> truth u <> truth v -> (rank u <= rank v)%nat -> t u <= t v ->
      G (1 - t u) <= U v -> reason v       (* also a pair: then rank u = rank v *)
  | Sure : 1 <= U v -> reason v
  | Given : (forall p, competes p -> chance p v <= U v) -> reason v.
  Hypothesis certificate : forall v, reason v.
  Hypothesis U_range : forall v, U v <= 1.

  (** proven.md section 5, fair design: whoever gives v more than U(v) gives less to some w with t(w) <= t(v). *)
  Theorem fair_certificate p : competes p -> forall v, U v < chance p v -> exists w, t w <= t v /\ chance p w < t w.
  Proof.
    intros C v. pose proof (competes_law p C) as L. pose proof (competes_private p C) as P.
    remember (rank v) as n eqn:En. revert v En.
    induction n as [n IH] using lt_wf_ind. intros v En H. destruct (certificate v) as [u G e s r o B|u G e s r o B|B|B].
    - destruct (Rlt_dec (U u) (chance p u)) as [c|c].
      + destruct (IH (rank u) ltac:(lia) u eq_refl c) as (w & W1 & W2). exists w. split; [lra|auto].
      + exfalso. pose proof (same_bound p u v G L P e s). pose proof (chance_range p u L).
        destruct (edge_step _ _ _ e) as [_ M]. pose proof (U_range u).
        pose proof (M (chance p u) (U u) ltac:(lra) ltac:(lra) ltac:(lra)). lra.
    - destruct (Rlt_dec (chance p u) (t u)) as [c|c]; [exists u; split; auto|]. exfalso.
      pose proof (across_bound p u v G L P e s). pose proof (chance_range p u L). pose proof (t_range u).
      destruct (edge_step _ _ _ e) as [_ M].
      pose proof (M (1 - chance p u) (1 - t u) ltac:(lra) ltac:(lra) ltac:(lra)). lra.
    - exfalso. pose proof (chance_range p v L). lra.
    - exfalso. specialize (B p C). lra.
  Qed.

  (** proven.md section 5, fair design: nothing dominates the certified design by more than its gap. *)
  Theorem fair_gap p gap : competes p -> (forall v, U v - t v <= gap) -> (forall v, t v <= chance p v) ->
    forall v, chance p v - t v <= gap.
  Proof.
    intros C Hg D v. specialize (Hg v). destruct (Rle_dec (chance p v) (U v)) as [c|c]; [lra|].
    destruct (fair_certificate p C v ltac:(lra)) as (w & _ & W). specialize (D w). lra.
  Qed.

  (** proven.md section 5, fair design: with gap 0 it is max-min fair: nobody's chance of the true answer
      can be raised without lowering somebody's that is no better. *)
  Theorem fair_max_min p : competes p -> (forall v, U v <= t v) ->
    forall v, t v < chance p v -> exists w, t w <= t v /\ chance p w < t w.
  Proof. intros C Hg v H. apply fair_certificate; auto. specialize (Hg v). lra. Qed.

  (** proven.md section 5, fair design: a max-min fair mechanism that competes is the only one, where the
      datasets can be listed. *)
  Theorem fair_only (p q : V -> R) (all : list V) : competes p -> competes q -> (forall v, List.In v all) ->
    (forall p', competes p' -> forall v, chance p v < chance p' v -> exists w, chance p w <= chance p v /\ chance p' w < chance p w) ->
    (forall p', competes p' -> forall v, chance q v < chance p' v -> exists w, chance q w <= chance q v /\ chance p' w < chance q w) ->
    forall v, chance p v = chance q v.
  Proof.
    intros Cp Cq all_in Fp Fq.
    (* the least value of either at which the two differ *)
    set (least := fun v => Rmin (chance p v) (chance q v)).
    assert (M : forall l, (exists v, List.In v l /\ chance p v <> chance q v) ->
      exists v, List.In v l /\ chance p v <> chance q v /\
        forall w, List.In w l -> chance p w <> chance q w -> least v <= least w).
    { induction l as [|a l IH]; intros (v & Hv & N); [destruct Hv|].
      destruct (List.Exists_dec (fun w => chance p w <> chance q w) l) as [e|e].
      { intros w. destruct (Req_EM_T (chance p w) (chance q w)); [right; tauto|left; auto]. }
      - apply List.Exists_exists in e. destruct (IH e) as (m & m1 & m2 & m3).
        destruct (Req_EM_T (chance p a) (chance q a)) as [ea|ea].
        + exists m. repeat split; simpl; auto. intros w [<-|W] NW; [tauto|auto].
        + destruct (Rle_dec (least a) (least m)) as [c|c].
          * exists a. repeat split; simpl; auto. intros w [<-|W] NW; [lra|]. specialize (m3 w W NW). lra.
          * exists m. repeat split; simpl; auto. intros w [<-|W] NW; [lra|auto].
      - assert (only : forall w, List.In w l -> ~ chance p w <> chance q w).
        { intros w W NW. apply e. apply List.Exists_exists. eauto. }
        destruct Hv as [->|Hv]; [|exfalso; now apply (only v)].
        exists v. repeat split; simpl; auto. intros w [<-|W] NW; [lra|]. exfalso. now apply (only w). }
    intros v. destruct (Req_EM_T (chance p v) (chance q v)) as [e|e]; auto. exfalso.
    destruct (M all) as (m & _ & N & B); [exists v; auto|].
    assert (K : forall a b, a < b -> Rmin a b = a) by (intros a b H; unfold Rmin; destruct (Rle_dec a b); lra).
    assert (K' : forall a b, b < a -> Rmin a b = b) by (intros a b H; unfold Rmin; destruct (Rle_dec a b); lra).
    destruct (Rtotal_order (chance p m) (chance q m)) as [c|[c|c]]; [|tauto|].
    - destruct (Fp q Cq m c) as (w & W1 & W2). specialize (B w (all_in w) ltac:(lra)).
      unfold least in B. rewrite (K _ _ c), (K' _ _ W2) in B. lra.
    - destruct (Fq p Cp m c) as (w & W1 & W2). specialize (B w (all_in w) ltac:(lra)).
      unfold least in B. rewrite (K' _ _ c), (K _ _ W2) in B. lra.
  Qed.
End Fair.
