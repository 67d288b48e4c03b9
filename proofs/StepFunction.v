(** One function is the whole of privacy (docs/proven.md, section 1).

    If a dataset gives an event the probability s, a neighbour may give it at most F(s). Two laws are
    (epsilon, delta)-close exactly when every event keeps this bound. Everything later uses only four
    properties of F: it never falls below s, rises, is concave, and is symmetric. A function with these
    properties is called a [tradeoff] here, so the later theorems hold for several levels at once and
    for Gaussian privacy too. E stands for e^epsilon; only E >= 1 is used. *)
Require Import Reals Lra Psatz List Permutation Bool.
Import ListNotations.
Open Scope R_scope.

(** ** Finite sums and events *)
Section Sums.
  Context {A : Type}.
  Fixpoint sum (f : A -> R) (l : list A) : R :=
    match l with [] => 0 | a :: r => f a + sum f r end.
  (** probability of the event [S] under [p]; [l] lists the answers *)
  Definition pr (p : A -> R) (l : list A) (S : A -> bool) : R :=
    sum (fun a => if S a then p a else 0) l.
  Definition dist (p : A -> R) (l : list A) : Prop :=
    (forall a, In a l -> 0 <= p a) /\ sum p l = 1.

  Lemma sum_nonneg f l : (forall a, In a l -> 0 <= f a) -> 0 <= sum f l.
  Proof.
    induction l as [|a l IH]; simpl; intros H; [lra|].
    assert (0 <= f a) by (apply H; auto). assert (0 <= sum f l) by (apply IH; auto). lra.
  Qed.
  Lemma sum_le f g l : (forall a, In a l -> f a <= g a) -> sum f l <= sum g l.
  Proof.
    induction l as [|a l IH]; simpl; intros H; [lra|].
    assert (f a <= g a) by (apply H; auto). assert (sum f l <= sum g l) by (apply IH; auto). lra.
  Qed.
  Lemma sum_ext f g l : (forall a, In a l -> f a = g a) -> sum f l = sum g l.
  Proof.
    induction l as [|a l IH]; simpl; intros H; [lra|].
    rewrite H, IH; auto.
  Qed.
  Lemma sum_perm f l l' : Permutation l l' -> sum f l = sum f l'.
  Proof. induction 1; simpl; lra. Qed.
  Lemma sum_app f l l' : sum f (l ++ l') = sum f l + sum f l'.
  Proof. induction l; simpl; lra. Qed.
  Lemma pr_perm p l l' S : Permutation l l' -> pr p l S = pr p l' S.
  Proof. apply sum_perm. Qed.
  Lemma dist_perm p l l' : Permutation l l' -> dist p l -> dist p l'.
  Proof.
    intros H [Hp Hs]. split.
    - intros a Ha. apply Hp. apply Permutation_in with l'; auto. now apply Permutation_sym.
    - rewrite <- Hs. symmetry. now apply sum_perm.
  Qed.
  Lemma pr_compl p l S : pr p l S + pr p l (fun a => negb (S a)) = sum p l.
  Proof. unfold pr. induction l as [|a l IH]; simpl; [lra|]. destruct (S a); simpl; lra. Qed.
  Lemma pr_nonneg p l S : (forall a, In a l -> 0 <= p a) -> 0 <= pr p l S.
  Proof. intros H. apply sum_nonneg. intros a Ha. destruct (S a); auto; lra. Qed.
  Lemma pr_le p l S : (forall a, In a l -> 0 <= p a) -> pr p l S <= sum p l.
  Proof. intros H. apply sum_le. intros a Ha. specialize (H a Ha). destruct (S a); lra. Qed.
  Lemma pr_range p l S : dist p l -> 0 <= pr p l S <= 1.
  Proof.
    intros [Hp Hs]. split; [now apply pr_nonneg|]. rewrite <- Hs. now apply pr_le.
  Qed.
End Sums.

(** ** The step function *)
Definition F (E d s : R) : R := Rmin 1 (Rmin (E * s + d) (1 - (1 - s - d) / E)).

(** the four properties on which everything else rests *)
Record tradeoff (G : R -> R) : Prop := {
  tr_ge : forall s, 0 <= s <= 1 -> s <= G s <= 1;
  tr_mono : forall s t, 0 <= s -> s <= t -> t <= 1 -> G s <= G t;
  tr_conc : forall a b w, 0 <= a <= 1 -> 0 <= b <= 1 -> 0 <= w <= 1 ->
            w * G a + (1 - w) * G b <= G (w * a + (1 - w) * b);
  tr_sym : forall x y, 0 <= x <= 1 -> 0 <= y <= 1 -> x <= G y -> 1 - y <= G (1 - x) }.

Section StepFunction.
  Variables E d : R.
  Hypothesis HE : 1 <= E.
  Hypothesis Hd : 0 <= d <= 1.

  Lemma div_E a b : a <= 1 - b / E <-> b <= E * (1 - a).
  Proof.
    assert (HE0 : 0 < E) by lra.
    split; intros H.
    - assert (E * (b / E) = b) by (field; lra).
      assert (E * (b / E) <= E * (1 - a)) by (apply Rmult_le_compat_l; lra). lra.
    - assert (b / E <= 1 - a); [|lra].
      apply Rmult_le_reg_l with E; auto. replace (E * (b / E)) with b by (field; lra). lra.
  Qed.

  (** [x <= F s] says: both inequalities of (epsilon, delta)-DP, and x <= 1 *)
  Lemma F_spec x s : x <= F E d s <-> x <= 1 /\ x <= E * s + d /\ 1 - s <= E * (1 - x) + d.
  Proof.
    unfold F. split.
    - intros H.
      assert (H1 := Rmin_l 1 (Rmin (E * s + d) (1 - (1 - s - d) / E))).
      assert (H2 := Rmin_r 1 (Rmin (E * s + d) (1 - (1 - s - d) / E))).
      assert (H3 := Rmin_l (E * s + d) (1 - (1 - s - d) / E)).
      assert (H4 := Rmin_r (E * s + d) (1 - (1 - s - d) / E)).
      assert (H5 : x <= 1 - (1 - s - d) / E) by lra. apply div_E in H5. lra.
    - intros (H1 & H2 & H3). apply Rmin_glb; auto. apply Rmin_glb; auto. apply div_E. lra.
  Qed.

  Lemma F_ub s : F E d s <= 1 /\ F E d s <= E * s + d /\ 1 - s <= E * (1 - F E d s) + d.
  Proof. apply F_spec. apply Rle_refl. Qed.

  (** proven.md section 1: F is monotone and concave, F(s) >= s, and x <= F(y) exactly when 1 - y <= F(1 - x). *)
  Theorem F_is_tradeoff : tradeoff (F E d).
  Proof.
    split.
    - intros s Hs. split; [|apply F_ub]. apply F_spec. nra.
    - intros s t Hs Hst Ht. apply F_spec. pose proof (F_ub s). nra.
    - intros a b w Ha Hb Hw. apply F_spec. pose proof (F_ub a). pose proof (F_ub b). nra.
    - intros x y Hx Hy H. apply F_spec. apply F_spec in H. lra.
  Qed.

  (** proven.md section 1: F(0) = delta. *)
  Lemma F_at_0 : F E d 0 = d.
  Proof.
    apply Rle_antisym; [pose proof (F_ub 0); lra|]. apply F_spec. nra.
  Qed.
  (** proven.md section 1: F(s) = 1 exactly when s >= 1 - delta. *)
  Lemma F_is_1_iff s : 0 <= s <= 1 -> (F E d s = 1 <-> 1 - d <= s).
  Proof.
    intros Hs. split; intros H.
    - pose proof (F_ub s). rewrite H in *. lra.
    - apply Rle_antisym; [apply F_ub|]. apply F_spec. nra.
  Qed.

  (** ** Theorem 1 *)
  Definition close {A} (l : list A) (P Q : A -> R) : Prop :=
    forall S, pr P l S <= E * pr Q l S + d /\ pr Q l S <= E * pr P l S + d.

  (** proven.md section 1, Theorem 1: two laws are (epsilon, delta)-close if and only if P(A) <= F(Q(A)) for every event A. *)
  Theorem theorem_1_closeness {A} (l : list A) (P Q : A -> R) : dist P l -> dist Q l ->
    (close l P Q <-> forall S, pr P l S <= F E d (pr Q l S)).
  Proof.
    intros HP HQ. split.
    - intros H S. apply F_spec. pose proof (pr_range P l S HP). pose proof (H S).
      pose proof (H (fun a => negb (S a))).
      pose proof (pr_compl P l S). pose proof (pr_compl Q l S). destruct HP, HQ. nra.
    - intros H S. pose proof (H S) as H1. pose proof (H (fun a => negb (S a))) as H2.
      apply F_spec in H1. apply F_spec in H2.
      pose proof (pr_compl P l S). pose proof (pr_compl Q l S). destruct HP, HQ. nra.
  Qed.

  (** proven.md section 1: with delta > 0 closeness is tested on events, by the sum of (P - E Q)_+. *)
  Lemma closeness_by_positive_parts {A} (l : list A) (P Q : A -> R) :
    (forall S, pr P l S <= E * pr Q l S + d) <->
    sum (fun a => Rmax 0 (P a - E * Q a)) l <= d.
  Proof.
    assert (lin : forall S, pr P l S - E * pr Q l S
                   = sum (fun a => if S a then P a - E * Q a else 0) l).
    { intros S. unfold pr. induction l as [|a r IH]; simpl; [lra|]. destruct (S a); lra. }
    split.
    - intros H. pose proof (H (fun a => if Rle_dec 0 (P a - E * Q a) then true else false)) as H1.
      pose proof (lin (fun a => if Rle_dec 0 (P a - E * Q a) then true else false)) as H2.
      rewrite (sum_ext _ (fun a => Rmax 0 (P a - E * Q a))) in H2; [lra|].
      intros a _. unfold Rmax. destruct (Rle_dec 0 (P a - E * Q a)); auto.
    - intros H S. pose proof (lin S).
      assert (sum (fun a => if S a then P a - E * Q a else 0) l
              <= sum (fun a => Rmax 0 (P a - E * Q a)) l); [|lra].
      apply sum_le. intros a _. destruct (S a); [apply Rmax_r | apply Rmax_l].
  Qed.
End StepFunction.

(** ** Directed edges *)
(** what an edge needs alone: it never falls below s, and rises *)
Definition step (G : R -> R) : Prop := (forall s, 0 <= s <= 1 -> s <= G s <= 1) /\
  (forall s t, 0 <= s -> s <= t -> t <= 1 -> G s <= G t).
(** G bounds the way there, G' the way back *)
Definition dual (G G' : R -> R) : Prop :=
  forall x y, 0 <= x <= 1 -> 0 <= y <= 1 -> x <= G y -> 1 - y <= G' (1 - x).
Lemma tradeoff_step G : tradeoff G -> step G /\ dual G G.
Proof. intros [H1 H2 _ H4]. repeat split; try apply H1; auto. Qed.

Section Directed.
  Variables E d E' d' : R.
  Hypothesis HE : 1 <= E.
  Hypothesis HE' : 1 <= E'.
  Hypothesis Hd : 0 <= d <= 1.
  Hypothesis Hd' : 0 <= d' <= 1.
  (** (E, d) bounds the far end by the near end; (E', d') is the promise of the way back *)
  Definition Fdir (E d E' d' s : R) : R := Rmin 1 (Rmin (E * s + d) (1 - (1 - s - d') / E')).

  Lemma Fdir_spec x s : x <= Fdir E d E' d' s <-> x <= 1 /\ x <= E * s + d /\ 1 - s <= E' * (1 - x) + d'.
  Proof.
    unfold Fdir. split.
    - intros H. assert (H1 := Rmin_l 1 (Rmin (E * s + d) (1 - (1 - s - d') / E'))).
      assert (H2 := Rmin_r 1 (Rmin (E * s + d) (1 - (1 - s - d') / E'))).
      assert (H3 := Rmin_l (E * s + d) (1 - (1 - s - d') / E')).
      assert (H4 := Rmin_r (E * s + d) (1 - (1 - s - d') / E')).
      assert (H5 : x <= 1 - (1 - s - d') / E') by lra. apply (div_E E' HE') in H5. lra.
    - intros (H1 & H2 & H3). apply Rmin_glb; auto. apply Rmin_glb; auto. apply (div_E E' HE'). lra.
  Qed.

  (** proven.md section 1: a directed edge promises (E, d) one way and (E', d') the other way; together
      they say that the far end gives every event at most Fdir of what the near end gives it. *)
  Theorem directed_closeness {A} (l : list A) (P Q : A -> R) : dist P l -> dist Q l ->
    ((forall S, pr P l S <= E * pr Q l S + d) /\ (forall S, pr Q l S <= E' * pr P l S + d')
     <-> forall S, pr P l S <= Fdir E d E' d' (pr Q l S)).
  Proof.
    intros HP HQ. split.
    - intros [H1 H2] S. apply Fdir_spec. pose proof (pr_range P l S HP). pose proof (H1 S).
      pose proof (H2 (fun a => negb (S a))).
      pose proof (pr_compl P l S). pose proof (pr_compl Q l S). destruct HP, HQ. nra.
    - intros H. split; intros S.
      + now apply Fdir_spec.
      + pose proof (H (fun a => negb (S a))) as H2. apply Fdir_spec in H2.
        pose proof (pr_compl P l S). pose proof (pr_compl Q l S). destruct HP, HQ. nra.
  Qed.

  (** proven.md section 1: the step function of a directed edge never falls below s, and rises, ... *)
  Theorem directed_step : step (Fdir E d E' d').
  Proof.
    assert (U : forall s, Fdir E d E' d' s <= 1 /\ Fdir E d E' d' s <= E * s + d /\
                          1 - s <= E' * (1 - Fdir E d E' d' s) + d') by (intros s; apply Fdir_spec; lra).
    split.
    - intros s Hs. split; [|apply U]. apply Fdir_spec. nra.
    - intros s t Hs Hst Ht. apply Fdir_spec. pose proof (U s). nra.
  Qed.
End Directed.
(** proven.md section 1: ... and the way back is its dual: x <= F(y) gives 1 - y <= F_back(1 - x). *)
Theorem directed_dual E d E' d' : 1 <= E -> 1 <= E' -> dual (Fdir E d E' d') (Fdir E' d' E d).
Proof. intros H H' x y Hx Hy K. apply Fdir_spec in K; auto. apply Fdir_spec; auto. lra. Qed.

(** proven.md section 1: several levels at once are one trade-off function, their minimum. *)
Lemma several_levels_at_once G H : tradeoff G -> tradeoff H -> tradeoff (fun s => Rmin (G s) (H s)).
Proof.
  intros [g1 g2 g3 g4] [h1 h2 h3 h4]. split.
  - intros s Hs. specialize (g1 s Hs). specialize (h1 s Hs). unfold Rmin. destruct (Rle_dec _ _); lra.
  - intros s t a b c. specialize (g2 s t a b c). specialize (h2 s t a b c).
    unfold Rmin. repeat destruct (Rle_dec _ _); lra.
  - intros a b w Ha Hb Hw. specialize (g3 a b w Ha Hb Hw). specialize (h3 a b w Ha Hb Hw).
    unfold Rmin. repeat destruct (Rle_dec _ _); nra.
  - intros x y Hx Hy Hm.
    assert (Rmin (G y) (H y) <= G y) by apply Rmin_l. assert (Rmin (G y) (H y) <= H y) by apply Rmin_r.
    apply Rmin_glb; [apply g4 | apply h4]; lra.
Qed.
