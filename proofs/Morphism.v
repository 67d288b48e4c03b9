(** Morphisms: why a table with a billion rows needs no graph (docs/proven.md, section 4).

    A map from one graph of datasets to another sends every edge to one vertex, or to an edge that
    promises at least as much. A private mechanism on its image, read through the map, is private on its
    source. *)
Require Import Reals Lra List.
Require Import DP.StepFunction DP.Raising.
Open Scope R_scope.

Section Morphism.
  Context {V W A : Type}.
  Variable ans : list A.
  (** edges carry their step functions; parallel edges are several promises *)
  Variable edge : V -> V -> (R -> R) -> Prop.
  Variable edge_image : W -> W -> (R -> R) -> Prop.
  Definition mechanism_on {X} (M : X -> A -> R) := forall x, dist (M x) ans.
  (** every event: the far end gives at most G of what the near end gives *)
  Definition private_on {X} (E : X -> X -> (R -> R) -> Prop) (M : X -> A -> R) :=
    forall u v G, E u v G -> forall S, pr (M v) ans S <= G (pr (M u) ans S).

  Hypothesis edge_ge : forall u v G, edge u v G -> forall s, 0 <= s <= 1 -> s <= G s.
  (** the stricter edge: H(s) <= G(s) for every probability s *)
  Definition stricter (H G : R -> R) := forall s, 0 <= s <= 1 -> H s <= G s.
  Definition morphism (g : V -> W) := forall u v G, edge u v G ->
    g u = g v \/ exists H, edge_image (g u) (g v) H /\ stricter H G.

  (** proven.md section 4: a private mechanism on the image of a morphism gives one on its source. *)
  Theorem pullback_private (g : V -> W) (M : W -> A -> R) : morphism g -> mechanism_on M ->
    private_on edge_image M -> private_on edge (fun v => M (g v)).
  Proof.
    intros Hg D P u v G e S. pose proof (pr_range (M (g u)) ans S (D (g u))).
    destruct (Hg u v G e) as [same|(H0 & e' & L)].
    - rewrite <- same. now apply (edge_ge u v).
    - eapply Rle_trans; [apply (P _ _ _ e')|]. now apply L.
  Qed.
End Morphism.
