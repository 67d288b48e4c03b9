(** Means and ratios by the smoothed crossing, from the table to the law (docs/proven.md, section 14).

    Nothing is split between a sum and a count: at every cut tau the height is the sum of (tau - v_i), in
    units of the most that one person can move it. A person moves the heights monotonically along the
    cuts, which is a move of the smoothed crossing. *)
Require Import Reals Lra Lia Psatz List Bool Arith.
Require Import DP.StepFunction DP.Crossing.
Import ListNotations.
Open Scope R_scope.

Section Family.
  Variable N : nat.
  Hypothesis HN : (1 <= N)%nat.
  Variable eps : R.
  Hypothesis Heps : 0 <= eps.
  Variable m : nat -> R.
  Hypothesis Hm : forall j, 0 < m j.
  (** the law of the answer, from the heights A_t of the cuts *)
  Definition crossing (A : nat -> R) j :=
    bin N (fun t => m t * exp (eps / 2 * A t)) (fun t => m (S t) * exp (- (eps / 2 * A t))) j.

  Lemma bin_ext l1 r1 l2 r2 j : (forall t, l1 t = l2 t) -> (forall t, r1 t = r2 t) -> bin N l1 r1 j = bin N l2 r2 j.
  Proof.
    intros H1 H2. assert (X : forall t, rho N l1 r1 t = rho N l2 r2 t).
    { intros t. unfold rho, L, Rt. rewrite (sum_ext l1 l2), (sum_ext r1 r2); auto. }
    unfold bin, cdf. destruct j; rewrite !X; auto.
  Qed.
  Theorem family_private A A' : move N (fun t => A' t - A t) -> forall j, (j <= N)%nat ->
    crossing A' j <= exp eps * crossing A j.
  Proof.
    intros H j Hj. unfold crossing.
    set (l := fun t => m t * exp (eps / 2 * A t)). set (r := fun t => m (S t) * exp (- (eps / 2 * A t))).
    rewrite (bin_ext _ _ (l' (eps / 2) l (fun t => A' t - A t)) (r' (eps / 2) r (fun t => A' t - A t))).
    - replace eps with (2 * (eps / 2)) at 3 by lra. apply crossing_private; auto; try lra;
        intros; apply Rmult_lt_0_compat; auto; apply exp_pos.
    - intros t. unfold l', l. rewrite Rmult_assoc, <- exp_plus. f_equal. f_equal. lra.
    - intros t. unfold r', r. rewrite Rmult_assoc, <- exp_plus. f_equal. f_equal. lra.
  Qed.
  Lemma move_ext h h' : (forall t, (t < N)%nat -> h t = h' t) -> move N h -> move N h'.
  Proof.
    intros H [B M]. split.
    - intros i Hi. rewrite <- H; auto.
    - destruct M as [M|[M|[[P [c [M1 M2]]]|[P [c [M1 M2]]]]]].
      + left. intros i j Hij. rewrite <- !H by lia. now apply M.
      + right. left. intros i j Hij. rewrite <- !H by lia. now apply M.
      + right. right. left. split; [intros i Hi; rewrite <- H; auto|]. exists c.
        split; intros i j Hij Hj; rewrite <- !H by lia; auto.
      + right. right. right. split; [intros i Hi; rewrite <- H; auto|]. exists c.
        split; intros i j Hij Hj; rewrite <- !H by lia; auto.
  Qed.

  (** a person's value in [lo, hi], or none (no value, not among those asked) *)
  Variables lo hi : R.
  Hypothesis Hlh : lo < hi.
  Variable tau : nat -> R.                        (* the cuts, rising, inside of the range *)
  Hypothesis Htau : forall t, (t < N)%nat -> lo <= tau t <= hi.
  Hypothesis Hrise : forall i j, (i <= j < N)%nat -> tau i <= tau j.
  Definition okr (r : option R) := match r with Some v => lo <= v <= hi | None => True end.

  Inductive replaced : list (option R) -> list (option R) -> Prop :=
  | rep D1 D2 x y : okr x -> okr y -> replaced (D1 ++ x :: D2) (D1 ++ y :: D2).
  Inductive changed : list (option R) -> list (option R) -> Prop :=
  | add D1 D2 x : okr x -> changed (D1 ++ D2) (D1 ++ x :: D2)
  | rem D1 D2 x : okr x -> changed (D1 ++ x :: D2) (D1 ++ D2).

  Definition term (w t v : R) := (t - v) / w.
  Definition height (w : nat -> R) (D : list (option R)) (t : nat) : R :=
    sum (fun r => match r with Some v => term (w t) (tau t) v | None => 0 end) D.

  (** ** n public: one record replaced, also by one without a value *)
  Definition wsub (t : nat) := hi - lo.
  Lemma const_move c : -1 <= c <= 1 -> move N (fun _ => c).
  Proof. intros H. split; [intros i _; lra|]. left. intros i j _. lra. Qed.
  Lemma opp_move h : move N h -> move N (fun t => - h t).
  Proof.
    intros [B M]. split.
    - intros i Hi. specialize (B i Hi). lra.
    - destruct M as [M|[M|[[P [c [M1 M2]]]|[P [c [M1 M2]]]]]].
      + right. left. intros i j Hij. specialize (M i j Hij). lra.
      + left. intros i j Hij. specialize (M i j Hij). lra.
      + right. right. right. split; [intros i Hi; specialize (P i Hi); lra|]. exists c.
        split; intros i j Hij Hj; [specialize (M1 i j Hij Hj)|specialize (M2 i j Hij Hj)]; lra.
      + right. right. left. split; [intros i Hi; specialize (P i Hi); lra|]. exists c.
        split; intros i j Hij Hj; [specialize (M1 i j Hij Hj)|specialize (M2 i j Hij Hj)]; lra.
  Qed.

  Lemma div_bound a w : 0 < w -> - w <= a <= w -> -1 <= a / w <= 1.
  Proof.
    intros Hw [H1 H2]. split; apply Rmult_le_reg_r with w; auto;
      replace (a / w * w) with a by (field; lra); lra.
  Qed.
  Lemma enter_sub v : lo <= v <= hi -> move N (fun t => term (wsub t) (tau t) v).
  Proof.
    intros Hv. unfold term, wsub. split.
    - intros i Hi. pose proof (Htau i Hi). apply div_bound; lra.
    - left. intros i j Hij. pose proof (Hrise i j Hij). unfold Rdiv. apply Rmult_le_compat_r; [|lra].
      left. apply Rinv_0_lt_compat. lra.
  Qed.

  (** proven.md section 14: the crossing mean is epsilon-DP when one record is replaced, n public. *)
  Theorem mean_substitution D D' : replaced D D' -> forall j, (j <= N)%nat ->
    crossing (height wsub D') j <= exp eps * crossing (height wsub D) j.
  Proof.
    intros H. apply family_private. destruct H as [D1 D2 x y Hx Hy].
    destruct x as [v|], y as [v'|]; simpl in Hx, Hy.
    - apply (move_ext (fun _ => (v - v') / (hi - lo))); [|apply const_move, div_bound; lra].
      intros t Ht. unfold height, term, wsub. rewrite !sum_app. simpl. field. lra.
    - apply (move_ext (fun t => - term (wsub t) (tau t) v)); [|now apply opp_move, enter_sub].
      intros t Ht. unfold height. rewrite !sum_app. simpl. lra.
    - apply (move_ext (fun t => term (wsub t) (tau t) v')); [|now apply enter_sub].
      intros t Ht. unfold height. rewrite !sum_app. simpl. lra.
    - apply (move_ext (fun _ => 0)); [|apply const_move; lra].
      intros t Ht. unfold height. rewrite !sum_app. simpl. lra.
  Qed.

  (** ** n private: one record added or removed *)
  Definition war (t : nat) := Rmax (hi - tau t) (tau t - lo).
  Lemma war_pos t : 0 < war t.
  Proof. unfold war, Rmax. destruct (Rle_dec _ _); lra. Qed.
  Lemma enter_ar v : lo <= v <= hi -> move N (fun t => term (war t) (tau t) v).
  Proof.
    intros Hv. unfold term. split.
    - intros i Hi. pose proof (Htau i Hi). pose proof (war_pos i). apply div_bound; auto.
      unfold war, Rmax. destruct (Rle_dec _ _); lra.
    - left. intros i j Hij. pose proof (Hrise i j Hij). pose proof (Htau i ltac:(lia)). pose proof (Htau j ltac:(lia)).
      pose proof (war_pos i) as Wi. pose proof (war_pos j) as Wj.
      apply Rmult_le_reg_r with (war i * war j); [apply Rmult_lt_0_compat; auto|].
      replace ((tau i - v) / war i * (war i * war j)) with ((tau i - v) * war j) by (field; lra).
      replace ((tau j - v) / war j * (war i * war j)) with ((tau j - v) * war i) by (field; lra).
      unfold war, Rmax in *. repeat destruct (Rle_dec _ _); nra.
  Qed.
  (** proven.md section 14: the crossing mean is epsilon-DP when one record is added or removed, n private. *)
  Theorem mean_add_remove D D' : changed D D' -> forall j, (j <= N)%nat ->
    crossing (height war D') j <= exp eps * crossing (height war D) j.
  Proof.
    intros H. apply family_private. destruct H as [D1 D2 x Hx|D1 D2 x Hx]; destruct x as [v|]; simpl in Hx.
    - apply (move_ext (fun t => term (war t) (tau t) v)); [|now apply enter_ar].
      intros t Ht. unfold height. rewrite !sum_app. simpl. lra.
    - apply (move_ext (fun _ => 0)); [|apply const_move; lra].
      intros t Ht. unfold height. rewrite !sum_app. simpl. lra.
    - apply (move_ext (fun t => - term (war t) (tau t) v)); [|now apply opp_move, enter_ar].
      intros t Ht. unfold height. rewrite !sum_app. simpl. lra.
    - apply (move_ext (fun _ => 0)); [|apply const_move; lra].
      intros t Ht. unfold height. rewrite !sum_app. simpl. lra.
  Qed.

  (** ** Ratios: the sum of a over the sum of b; a person without a value has a = b = 0 *)
  Variables alpha B : R.
  Hypothesis Halpha : 0 < alpha.
  Hypothesis HB : 0 < B.
  Variable rt : nat -> R.                          (* the cuts, rising, above 0 *)
  Hypothesis Hrt : forall t, (t < N)%nat -> 0 < rt t.
  Hypothesis Hrt_rise : forall i j, (i <= j < N)%nat -> rt i <= rt j.
  Definition okp (r : R * R) := 0 <= fst r <= alpha /\ 0 <= snd r <= B.
  Inductive pair_replaced : list (R * R) -> list (R * R) -> Prop :=
  | pair_rep D1 D2 x y : okp x -> okp y -> pair_replaced (D1 ++ x :: D2) (D1 ++ y :: D2).
  Inductive pair_changed : list (R * R) -> list (R * R) -> Prop :=
  | pair_add D1 D2 x : okp x -> pair_changed (D1 ++ D2) (D1 ++ x :: D2)
  | pair_rem D1 D2 x : okp x -> pair_changed (D1 ++ x :: D2) (D1 ++ D2).
  (** the height of cut t: how far the sum of a lies below t times the sum of b, in units of w *)
  Definition ratio_height (w : nat -> R) (D : list (R * R)) (t : nat) : R :=
    sum (fun r => (rt t * snd r - fst r) / w t) D.

  Lemma cross_le a b x y : 0 < x -> 0 < y -> a * y <= b * x -> a / x <= b / y.
  Proof.
    intros Hx Hy H. apply Rmult_le_reg_r with (x * y); [apply Rmult_lt_0_compat; auto|].
    replace (a / x * (x * y)) with (a * y) by (field; lra). replace (b / y * (x * y)) with (b * x) by (field; lra). auto.
  Qed.

  Definition wratio (t : nat) := alpha + rt t * B.
  (** a replaced record moves the heights monotonically: the sign of its slope is the same at every cut *)
  Lemma replace_move da db : - alpha <= da <= alpha -> - B <= db <= B ->
    move N (fun t => (rt t * db - da) / wratio t).
  Proof.
    intros Ha Hb. assert (W : forall t, (t < N)%nat -> 0 < wratio t).
    { intros t Ht. unfold wratio. pose proof (Hrt t Ht). nra. }
    assert (D : forall i j, (rt j * db - da) * wratio i - (rt i * db - da) * wratio j = (rt j - rt i) * (db * alpha + da * B)).
    { intros i j. unfold wratio. ring. }
    split.
    - intros i Hi. pose proof (Hrt i Hi). apply div_bound; [auto|]. unfold wratio. nra.
    - destruct (Rle_dec 0 (db * alpha + da * B)) as [c|c]; [left|right; left]; intros i j Hij;
        pose proof (Hrt_rise i j Hij); pose proof (W i ltac:(lia)); pose proof (W j ltac:(lia)); apply cross_le; auto;
        specialize (D i j).
      + assert (0 <= (rt j - rt i) * (db * alpha + da * B)) by (apply Rmult_le_pos; lra). lra.
      + assert (0 <= (rt j - rt i) * - (db * alpha + da * B)) by (apply Rmult_le_pos; lra). lra.
  Qed.
  (** proven.md section 14: the crossing ratio is epsilon-DP when one record is replaced. *)
  Theorem ratio_substitution D D' : pair_replaced D D' -> forall j, (j <= N)%nat ->
    crossing (ratio_height wratio D') j <= exp eps * crossing (ratio_height wratio D) j.
  Proof.
    intros H. apply family_private. destruct H as [D1 D2 [a b] [a' b'] [Xa Xb] [Ya Yb]]. simpl in *.
    apply (move_ext (fun t => (rt t * (b' - b) - (a' - a)) / wratio t)); [|apply replace_move; lra].
    intros t Ht. unfold ratio_height. rewrite !sum_app. simpl. unfold Rdiv. ring.
  Qed.

  Definition wratio_ar (t : nat) := Rmax alpha (rt t * B).
  Lemma enter_ratio a b : 0 <= a <= alpha -> 0 <= b <= B -> move N (fun t => (rt t * b - a) / wratio_ar t).
  Proof.
    intros Ha Hb. assert (W : forall t, 0 < wratio_ar t).
    { intros t. unfold wratio_ar, Rmax. destruct (Rle_dec _ _); lra. }
    split.
    - intros i Hi. pose proof (Hrt i Hi). apply div_bound; auto. unfold wratio_ar, Rmax. destruct (Rle_dec _ _); nra.
    - left. intros i j Hij. pose proof (Hrt_rise i j Hij). pose proof (Hrt i ltac:(lia)). pose proof (Hrt j ltac:(lia)).
      apply cross_le; auto. unfold wratio_ar, Rmax. destruct (Rle_dec alpha (rt i * B)) as [ci|ci]; destruct (Rle_dec alpha (rt j * B)) as [cj|cj].
      + assert (0 <= (rt j - rt i) * (a * B)) by (apply Rmult_le_pos; nra). nra.
      + exfalso. assert (rt i * B <= rt j * B) by (apply Rmult_le_compat_r; lra). lra.
      + (* (rt i b - a) rt j B <= (rt j b - a) alpha *)
        assert (Q1 : 0 <= (rt j * B - alpha) * a) by (apply Rmult_le_pos; lra).
        assert (Q2 : 0 <= (alpha - rt i * B) * (rt j * b)) by (apply Rmult_le_pos; nra). nra.
      + assert (0 <= (rt j - rt i) * (b * alpha)) by (apply Rmult_le_pos; nra). lra.
  Qed.
  (** proven.md section 14: the crossing ratio is epsilon-DP when one record is added or removed. *)
  Theorem ratio_add_remove D D' : pair_changed D D' -> forall j, (j <= N)%nat ->
    crossing (ratio_height wratio_ar D') j <= exp eps * crossing (ratio_height wratio_ar D) j.
  Proof.
    intros H. apply family_private. destruct H as [D1 D2 [a b] [Xa Xb]|D1 D2 [a b] [Xa Xb]]; simpl in *.
    - apply (move_ext (fun t => (rt t * b - a) / wratio_ar t)); [|now apply enter_ratio].
      intros t Ht. unfold ratio_height. rewrite !sum_app. simpl. lra.
    - apply (move_ext (fun t => - ((rt t * b - a) / wratio_ar t))); [|now apply opp_move, enter_ratio].
      intros t Ht. unfold ratio_height. rewrite !sum_app. simpl. lra.
  Qed.
End Family.
