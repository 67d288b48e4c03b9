(** People with levels of their own: weighted votes, the hedge, and the fair law (docs/proven.md, section 5).

    A table is a list of people, each with a public level and a private vote. One vote changes, and the
    person's own level bounds what that does to either answer. Three laws are proven private: weighted
    votes, where a person moves a signed sum by at most their level; the hedge, a mean of two signed
    costs; and the fair law, whose error is e^(-d)/(1 + e^(-alpha)) with d the sum of the k cheapest
    levels of those who could change the answer, and alpha the least level of all. *)
Require Import Reals Lra Lia Psatz List Permutation Bool Arith Sorted.
Require Import DP.StepFunction DP.Crossing.
Import ListNotations.
Open Scope R_scope.

(** ** The signed law: yes has the probability 1 - e^(-W)/2 if W >= 0, else e^W/2 *)
Definition yes (W : R) : R := if Rle_dec 0 W then 1 - exp (- W) / 2 else exp W / 2.
(** both answers change by a factor of at most e^e, in both directions *)
Definition bounded_by (e p q : R) : Prop :=
  p <= exp e * q /\ q <= exp e * p /\ 1 - p <= exp e * (1 - q) /\ 1 - q <= exp e * (1 - p).

Lemma yes_link W : yes W = link (exp W).
Proof.
  unfold yes. destruct (Rle_dec 0 W) as [c|c].
  - assert (1 <= exp W) by (rewrite <- exp_0; now apply exp_le). rewrite link_hi by lra. rewrite exp_Ropp. lra.
  - assert (exp W < 1) by (rewrite <- exp_0; apply exp_increasing; lra). rewrite link_lo; lra.
Qed.
Lemma no_link W : 1 - yes W = link (exp (- W)).
Proof. rewrite yes_link, exp_Ropp. symmetry. apply link_mirror, exp_pos. Qed.
Lemma link_move a b e : 0 <= e -> a <= b + e -> link (exp a) <= exp e * link (exp b).
Proof.
  intros He H. assert (1 <= exp e) by (rewrite <- exp_0; now apply exp_le).
  eapply Rle_trans; [|apply link_scale; auto; apply exp_pos]. apply link_mono; [apply exp_pos|].
  rewrite <- exp_plus. apply exp_le. lra.
Qed.
(** proven.md section 5: the logarithm of either probability moves by no more than W does. *)
Lemma signed_law_private W W' e : 0 <= e -> - e <= W - W' <= e -> bounded_by e (yes W) (yes W').
Proof.
  intros He H. unfold bounded_by. rewrite !no_link, !yes_link. repeat split; apply link_move; lra.
Qed.

(** ** Weighted votes *)
Record person := { level : R; vote : bool }.
Definition says (x : bool) : R := if x then 1 else 0.
Definition weighted (tau : R) (D : list person) : R := sum (fun i => level i * (says (vote i) - tau)) D.
(** person i turns from yes to no; the other direction is the same pair, read backwards *)
Inductive turned : R -> list person -> list person -> Prop :=
| turn D1 D2 e : 0 <= e -> turned e (D1 ++ {| level := e; vote := true |} :: D2) (D1 ++ {| level := e; vote := false |} :: D2).

(** proven.md section 5: weighted votes give every person their own level. *)
Theorem weighted_votes_private tau e D D' : turned e D D' -> bounded_by e (yes (weighted tau D)) (yes (weighted tau D')).
Proof.
  intros [D1 D2 e' He]. apply signed_law_private; auto. unfold weighted. rewrite !sum_app. simpl. lra.
Qed.

(** ** The cheapest people, the last one in part *)
(** [sel l m s]: shares of the people with levels [l] that add up to [m], at the cost [s] *)
Inductive sel : list R -> R -> R -> Prop :=
| sel_nil : sel [] 0 0
| sel_cons a l w m s : 0 <= w <= 1 -> sel l m s -> sel (a :: l) (w + m) (w * a + s).
Definition cheapest l m s := sel l m s /\ forall s', sel l m s' -> s <= s'.
Definition levels_ok (l : list R) := forall a, In a l -> 0 <= a.

Lemma sel_eq l m s m' s' : sel l m s -> m = m' -> s = s' -> sel l m' s'.
Proof. intros; subst; auto. Qed.
Lemma sel_inv a l m s : sel (a :: l) m s ->
  exists w m' s', 0 <= w <= 1 /\ sel l m' s' /\ m = w + m' /\ s = w * a + s'.
Proof. intros H. inversion H; subst. eauto 9. Qed.
Lemma sel_bounds l m s : sel l m s -> 0 <= m <= INR (length l).
Proof.
  induction 1; [simpl; lra|]. simpl length. rewrite S_INR. lra.
Qed.
Lemma sel_cost lo l m s : (forall a, In a l -> lo <= a) -> sel l m s -> lo * m <= s.
Proof.
  intros H S. induction S; [lra|]. specialize (IHS ltac:(intros; apply H; simpl; auto)).
  assert (lo <= a) by (apply H; simpl; auto). nra.
Qed.
Lemma sel_nonneg l m s : levels_ok l -> sel l m s -> 0 <= s.
Proof. intros H S. apply (sel_cost 0) in S; auto. lra. Qed.
Lemma sel_scale k l m s : 0 <= k <= 1 -> sel l m s -> sel l (k * m) (k * s).
Proof.
  intros Hk H. induction H as [|a l w m s Hw H IH].
  - apply (sel_eq [] 0 0); try lra. constructor.
  - apply (sel_eq (a :: l) (k * w + k * m) (k * w * a + k * s)); try lra. constructor; auto. nra.
Qed.
Lemma sel_insert l1 l2 a w m s : 0 <= w <= 1 -> sel (l1 ++ l2) m s -> sel (l1 ++ a :: l2) (w + m) (w * a + s).
Proof.
  intros Hw. revert m s. induction l1 as [|b l1 IH]; intros m s H; simpl in *; [now constructor|].
  apply sel_inv in H. destruct H as (v & m' & s' & Hv & H & -> & ->).
  apply (sel_eq _ (v + (w + m')) (v * b + (w * a + s'))); try lra. constructor; auto.
Qed.
Lemma sel_remove l1 l2 a m s : sel (l1 ++ a :: l2) m s ->
  exists w m' s', 0 <= w <= 1 /\ sel (l1 ++ l2) m' s' /\ m = w + m' /\ s = w * a + s'.
Proof.
  revert m s. induction l1 as [|b l1 IH]; intros m s H; simpl in *; [now apply sel_inv|].
  apply sel_inv in H. destruct H as (v & m' & s' & Hv & H & -> & ->).
  destruct (IH _ _ H) as (w & m2 & s2 & Hw & H2 & -> & ->).
  exists w, (v + m2), (v * b + s2). repeat split; try lra. now constructor.
Qed.
Lemma sel_none l : sel l 0 0.
Proof. induction l as [|a l IH]; [constructor|]. apply (sel_eq _ (0 + 0) (0 * a + 0)); try lra. constructor; auto; lra. Qed.
(** take less: at least the cheapest level is saved for every share that is left out *)
Lemma sel_less lo l m s m' : (forall a, In a l -> lo <= a) -> 0 <= lo -> sel l m s -> 0 <= m' <= m ->
  exists s', sel l m' s' /\ s' <= s - lo * (m - m').
Proof.
  intros Hl Hlo H Hm. destruct (Req_dec m 0) as [e|e].
  - exists s. split; [apply (sel_eq l m s); auto; lra|]. replace (m - m') with 0 by lra. lra.
  - pose proof (sel_cost lo l m s Hl H). exists (m' / m * s). split.
    + apply (sel_eq l (m' / m * m) (m' / m * s)); [|field; auto|auto]. apply sel_scale; auto. split.
      * apply Rle_mult_inv_pos; lra.
      * apply Rmult_le_reg_r with m; [lra|]. replace (m' / m * m) with m' by (field; auto). lra.
    + assert (X : s - m' / m * s = (m - m') / m * s) by (field; auto).
      assert (Y : lo * (m - m') = (m - m') / m * (lo * m)) by (field; auto).
      assert (0 <= (m - m') / m) by (apply Rle_mult_inv_pos; lra).
      assert ((m - m') / m * (lo * m) <= (m - m') / m * s) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** one person more, and one share more to take: the cost rises by 0 up to that person's level *)
Lemma one_more l1 l2 a m s s' : levels_ok (l1 ++ a :: l2) ->
  cheapest (l1 ++ l2) m s -> cheapest (l1 ++ a :: l2) (1 + m) s' -> s <= s' <= s + a.
Proof.
  intros Ho [S B] [S' B']. split.
  - destruct (sel_remove _ _ _ _ _ S') as (w & m' & s2 & Hw & H & Em & Es).
    assert (L : forall b, In b (l1 ++ l2) -> 0 <= b).
    { intros b Hb. apply Ho. rewrite in_app_iff in *. simpl. tauto. }
    pose proof (sel_bounds _ _ _ S).
    destruct (sel_less 0 (l1 ++ l2) m' s2 m L ltac:(lra) H ltac:(lra)) as (s3 & H3 & C3).
    specialize (B s3 H3). assert (0 <= a) by (apply Ho; rewrite in_app_iff; simpl; auto). nra.
  - specialize (B' (1 * a + s)). apply Rle_trans with (1 * a + s); [|lra]. apply B'.
    apply sel_insert; auto. lra.
Qed.
(** at most one share: never dearer than to take this person *)
Lemma at_most_one l1 l2 a m s : 0 <= m <= 1 -> cheapest (l1 ++ a :: l2) m s -> s <= m * a.
Proof.
  intros Hm [_ B]. apply B. apply (sel_eq _ (m + 0) (m * a + 0)); try lra. apply sel_insert; auto. apply sel_none.
Qed.

(** the k cheapest of a sorted list are its k first *)
Lemma cheapest_sorted l k : levels_ok l -> StronglySorted Rle l -> (k <= length l)%nat ->
  cheapest l (INR k) (sum (fun a => a) (firstn k l)).
Proof.
  revert k. induction l as [|a l IH]; intros [|k] Ho Hs Hk; simpl in Hk; try lia;
    try (split; [apply sel_none|intros s' S; apply sel_nonneg in S; auto]; fail).
  inversion Hs as [|? ? Hs' Hf]; subst. rewrite Forall_forall in Hf.
  destruct (IH k ltac:(intros b Hb; apply Ho; simpl; auto) Hs' ltac:(lia)) as [S B].
  assert (0 <= a) by (apply Ho; simpl; auto). rewrite S_INR. simpl firstn. simpl sum. split.
  - apply (sel_eq _ (1 + INR k) (1 * a + sum (fun a => a) (firstn k l))); try lra. constructor; auto. lra.
  - intros s' S'. apply sel_inv in S'. destruct S' as (w & m & s2 & Hw & S2 & Em & ->).
    destruct (sel_less a l m s2 (INR k) Hf H S2) as (s3 & S3 & C3); [pose proof (pos_INR k); lra|].
    specialize (B s3 S3). nra.
Qed.

(** ** The hedge *)
Definition levels_of (x : bool) (D : list person) : list R :=
  map level (filter (fun i => Bool.eqb (vote i) x) D).
Definition count_yes D : R := INR (length (levels_of true D)).
Definition people_ok (D : list person) := forall i, In i D -> 0 <= level i.
(** the signed cost to the layer "c say yes": the cheapest y - c yes-sayers, or minus the cheapest c - y others *)
Definition layer D c s := (c <= count_yes D /\ cheapest (levels_of true D) (count_yes D - c) s) \/
  (count_yes D < c /\ exists s', cheapest (levels_of false D) (c - count_yes D) s' /\ s = - s').

Lemma levels_of_app x D1 D2 : levels_of x (D1 ++ D2) = levels_of x D1 ++ levels_of x D2.
Proof. unfold levels_of. now rewrite filter_app, map_app. Qed.
Lemma levels_of_ok x D : people_ok D -> levels_ok (levels_of x D).
Proof.
  intros H a Ha. apply in_map_iff in Ha. destruct Ha as (i & <- & Hi). apply filter_In in Hi. now apply H.
Qed.
Lemma people_ok_turned e D D' : turned e D D' -> people_ok D -> people_ok D'.
Proof.
  intros [D1 D2 e' He] H i Hi. rewrite in_app_iff in Hi. simpl in Hi. destruct Hi as [Hi|[<-|Hi]]; simpl; auto;
    apply H; rewrite in_app_iff; simpl; auto.
Qed.

Lemma layer_move e D D' c s s' : turned e D D' -> people_ok D -> layer D c s -> layer D' c s' -> 0 <= s - s' <= e.
Proof.
  intros T Ho H H'. pose proof (people_ok_turned e D D' T Ho) as Ho'. destruct T as [D1 D2 e He].
  pose proof (levels_of_ok true _ Ho) as Y. pose proof (levels_of_ok false _ Ho') as N'.
  unfold layer, count_yes in *. rewrite !levels_of_app in *. cbn [levels_of filter vote eqb map level] in *.
  fold (levels_of true D2) in *. fold (levels_of false D2) in *.
  change (levels_of true ({| level := e; vote := true |} :: D2)) with (e :: levels_of true D2) in *.
  change (levels_of true ({| level := e; vote := false |} :: D2)) with (levels_of true D2) in *.
  change (levels_of false ({| level := e; vote := true |} :: D2)) with (levels_of false D2) in *.
  change (levels_of false ({| level := e; vote := false |} :: D2)) with (e :: levels_of false D2) in *.
  set (Y1 := levels_of true D1) in *. set (Y2 := levels_of true D2) in *.
  set (N1 := levels_of false D1) in *. set (N2 := levels_of false D2) in *.
  assert (y : INR (length (Y1 ++ e :: Y2)) = 1 + INR (length (Y1 ++ Y2))).
  { rewrite !app_length. simpl. rewrite <- plus_n_Sm, S_INR. lra. }
  rewrite y in H. set (y' := INR (length (Y1 ++ Y2))) in *.
  destruct H as [[c1 C]|[c1 (s1 & C & ->)]]; destruct H' as [[c2 C']|[c2 (s2 & C' & ->)]]; try lra.
  - replace (1 + y' - c) with (1 + (y' - c)) in C by lra. pose proof (one_more _ _ _ _ _ _ Y C' C). lra.
  - pose proof (at_most_one _ _ _ (1 + y' - c) _ ltac:(lra) C). pose proof (at_most_one _ _ _ (c - y') _ ltac:(lra) C').
    pose proof (sel_nonneg _ _ _ Y (proj1 C)). pose proof (sel_nonneg _ _ _ N' (proj1 C')). nra.
  - replace (c - y') with (1 + (c - (1 + y'))) in C' by lra. pose proof (one_more _ _ _ _ _ _ N' C C'). lra.
Qed.

(** proven.md section 5, hedge: a mean of two signed costs gives every person their own level, for any two layers. *)
Theorem hedge_private tau e D D' c1 c2 s1 s2 s1' s2' : 0 <= tau <= 1 -> people_ok D -> turned e D D' ->
  layer D c1 s1 -> layer D c2 s2 -> layer D' c1 s1' -> layer D' c2 s2' ->
  bounded_by e (yes ((1 - tau) * s1 + tau * s2)) (yes ((1 - tau) * s1' + tau * s2')).
Proof.
  intros Ht Ho T L1 L2 L1' L2'. pose proof (layer_move e D D' c1 s1 s1' T Ho L1 L1').
  pose proof (layer_move e D D' c2 s2 s2' T Ho L2 L2'). apply signed_law_private; [destruct T; auto|].
  replace ((1 - tau) * s1 + tau * s2 - ((1 - tau) * s1' + tau * s2')) with ((1 - tau) * (s1 - s1') + tau * (s2 - s2')) by ring.
  split; nra.
Qed.

(** every layer between 0 and n has a cost *)
Lemma smallest_first (l : list R) : l <> [] -> exists a r, Permutation l (a :: r) /\ forall b, In b r -> a <= b.
Proof.
  induction l as [|x l IH]; [tauto|]. intros _. destruct l as [|z l]; [exists x, []; split; auto; simpl; tauto|].
  destruct (IH ltac:(discriminate)) as (a & r & P & B). destruct (Rle_dec x a) as [c|c].
  - exists x, (z :: l). split; auto. intros b Hb. apply (Permutation_in _ P) in Hb. destruct Hb as [<-|Hb]; [auto|].
    specialize (B b Hb). lra.
  - exists a, (x :: r). split.
    + rewrite P. apply perm_swap.
    + intros b [<-|Hb]; [lra|auto].
Qed.
Lemma sel_perm l l' m s : Permutation l l' -> sel l m s -> sel l' m s.
Proof.
  intros P. revert m s. induction P; intros m s H; auto.
  - apply sel_inv in H. destruct H as (w & m' & s' & Hw & H & -> & ->). constructor; auto.
  - apply (sel_remove [y]) in H. destruct H as (w & m' & s' & Hw & H & -> & ->). simpl in H. constructor; auto.
Qed.
Lemma cheapest_exists l m : levels_ok l -> 0 <= m <= INR (length l) -> exists s, cheapest l m s.
Proof.
  remember (length l) as n eqn:En. revert l m En. induction n as [|n IH]; intros l m En Ho Hm.
  - exists 0. split; [apply (sel_eq l 0 0); [apply sel_none|simpl in Hm; lra|auto]|].
    intros s' S. now apply sel_nonneg in S.
  - destruct (smallest_first l) as (a & r & P & B); [destruct l; discriminate|].
    assert (Ha : 0 <= a) by (apply Ho; apply Permutation_in with (a :: r); [now apply Permutation_sym|simpl; auto]).
    assert (Hr : levels_ok r).
    { intros b Hb. specialize (B b Hb). lra. }
    assert (Lr : n = length r) by (apply Permutation_length in P; simpl in P; lia).
    rewrite S_INR in Hm. destruct (Rle_dec m 1) as [c|c].
    + exists (m * a). split.
      * apply (sel_perm (a :: r)); [now apply Permutation_sym|].
        apply (sel_eq _ (m + 0) (m * a + 0)); try lra. constructor; [lra|apply sel_none].
      * intros s' S. apply (sel_perm _ _ _ _ P) in S. rewrite Rmult_comm. apply (sel_cost a (a :: r)); auto.
        intros b [<-|Hb]; [lra|auto].
    + destruct (IH r (m - 1) Lr Hr ltac:(lra)) as (s & S & M). exists (1 * a + s). split.
      * apply (sel_perm (a :: r)); [now apply Permutation_sym|].
        apply (sel_eq _ (1 + (m - 1)) (1 * a + s)); try lra. constructor; [lra|auto].
      * intros s' S'. apply (sel_perm _ _ _ _ P) in S'. apply sel_inv in S'.
        destruct S' as (w & m' & s2 & Hw & S2 & Em & ->).
        destruct (sel_less a r m' s2 (m - 1) B Ha S2 ltac:(lra)) as (s3 & S3 & C3).
        specialize (M s3 S3). nra.
Qed.
Lemma votes_add_up D : INR (length (levels_of true D)) + INR (length (levels_of false D)) = INR (length D).
Proof.
  induction D as [|[a x] D IH]; [simpl; lra|]. change (length ({| level := a; vote := x |} :: D)) with (S (length D)).
  rewrite S_INR, <- IH. destruct x.
  - change (levels_of true ({| level := a; vote := true |} :: D)) with (a :: levels_of true D).
    change (levels_of false ({| level := a; vote := true |} :: D)) with (levels_of false D).
    simpl length. rewrite S_INR. lra.
  - change (levels_of true ({| level := a; vote := false |} :: D)) with (levels_of true D).
    change (levels_of false ({| level := a; vote := false |} :: D)) with (a :: levels_of false D).
    simpl length. rewrite S_INR. lra.
Qed.
(** proven.md section 5, hedge: the law is defined for all layers inside [0, n]. *)
Theorem layer_exists D c : people_ok D -> 0 <= c <= INR (length D) -> exists s, layer D c s.
Proof.
  intros Ho Hc. pose proof (votes_add_up D). destruct (Rle_dec c (count_yes D)) as [e|e].
  - destruct (cheapest_exists (levels_of true D) (count_yes D - c)) as (s & S).
    + now apply levels_of_ok.
    + unfold count_yes in *. lra.
    + exists s. left. auto.
  - destruct (cheapest_exists (levels_of false D) (c - count_yes D)) as (s & S).
    + now apply levels_of_ok.
    + unfold count_yes in *. lra.
    + exists (- s). right. split; [lra|eauto].
Qed.

(** *** M = n *)
Lemma sel_all l s : sel l (INR (length l)) s -> s = sum (fun a => a) l.
Proof.
  revert s. induction l as [|a l IH]; intros s H.
  - inversion H. reflexivity.
  - simpl length in H. rewrite S_INR in H. apply sel_inv in H. destruct H as (w & m & s' & Hw & H & Em & ->).
    pose proof (sel_bounds _ _ _ H). assert (w = 1) by lra. subst w. assert (m = INR (length l)) by lra. subst m.
    rewrite (IH s' H). simpl. lra.
Qed.
Lemma sel_zero l s : levels_ok l -> cheapest l 0 s -> s = 0.
Proof.
  intros Ho [S B]. specialize (B 0 (sel_none l)). apply sel_nonneg in S; auto. lra.
Qed.
Lemma weighted_split tau D : weighted tau D =
  (1 - tau) * sum (fun a => a) (levels_of true D) - tau * sum (fun a => a) (levels_of false D).
Proof.
  unfold weighted. induction D as [|[a x] D IH]; [unfold levels_of; simpl; lra|]. cbn [sum level vote]. rewrite IH. destruct x.
  - change (levels_of true ({| level := a; vote := true |} :: D)) with (a :: levels_of true D).
    change (levels_of false ({| level := a; vote := true |} :: D)) with (levels_of false D). simpl. lra.
  - change (levels_of true ({| level := a; vote := false |} :: D)) with (levels_of true D).
    change (levels_of false ({| level := a; vote := false |} :: D)) with (a :: levels_of false D). simpl. lra.
Qed.
(** proven.md section 5, hedge: between the layers 0 and n it is weighted votes. *)
Theorem hedge_of_all_is_weighted_votes tau D s0 sn : people_ok D -> layer D 0 s0 -> layer D (INR (length D)) sn ->
  (1 - tau) * s0 + tau * sn = weighted tau D.
Proof.
  intros Ho H0 Hn. rewrite weighted_split. pose proof (votes_add_up D) as A. unfold layer, count_yes in *.
  pose proof (pos_INR (length (levels_of true D))). pose proof (pos_INR (length (levels_of false D))).
  destruct H0 as [[_ [S0 _]]|[c _]]; [|lra]. rewrite Rminus_0_r in S0. apply sel_all in S0. subst s0.
  destruct Hn as [[c C]|[_ (s' & [S' _] & ->)]].
  - replace (INR (length (levels_of true D)) - INR (length D)) with 0 in C by lra.
    apply sel_zero in C; [|now apply levels_of_ok]. subst sn.
    assert (Z : length (levels_of false D) = 0%nat) by (apply INR_eq; simpl; lra).
    destruct (levels_of false D); [simpl; lra|discriminate].
  - replace (INR (length D) - INR (length (levels_of true D))) with (INR (length (levels_of false D))) in S' by lra.
    apply sel_all in S'. subst s'. lra.
Qed.

(** ** The fair law for a threshold: yes is true when at least t people say yes *)
Section FairLaw.
  Variable t : nat.
  Variable alpha : R.
  Hypothesis Halpha : 0 <= alpha.
  Definition c_fair := / (1 + exp (- alpha)).
  (** the answer is true and k yes-sayers, or false and k others, would have to change; d is the cost of the k cheapest *)
  Definition cost (D : list person) (d : R) : Prop :=
    if le_lt_dec t (length (levels_of true D))
    then cheapest (levels_of true D) (count_yes D - INR t + 1) d
    else cheapest (levels_of false D) (INR t - count_yes D) d.
  (** P(yes) of the fair law *)
  Definition fair D d := if le_lt_dec t (length (levels_of true D)) then 1 - c_fair * exp (- d) else c_fair * exp (- d).
  (** alpha is exactly the least level among all people *)
  Definition least_level D := (exists i, In i D /\ level i = alpha) /\ forall i, In i D -> alpha <= level i.

  Lemma least_turned e D D' : turned e D D' -> least_level D -> least_level D' /\ alpha <= e.
  Proof.
    intros [D1 D2 e' He] [(i & Hi & Ei) L]. repeat split.
    - rewrite in_app_iff in Hi. simpl in Hi. destruct Hi as [Hi|[<-|Hi]].
      + exists i. rewrite in_app_iff. auto.
      + exists {| level := e'; vote := false |}. rewrite in_app_iff. simpl in *. auto.
      + exists i. rewrite in_app_iff. simpl. auto.
    - intros j Hj. rewrite in_app_iff in Hj. simpl in Hj. destruct Hj as [Hj|[<-|Hj]].
      + apply L. rewrite in_app_iff. auto.
      + specialize (L {| level := e'; vote := true |}). simpl in *. apply L. rewrite in_app_iff. simpl. auto.
      + apply L. rewrite in_app_iff. simpl. auto.
    - specialize (L {| level := e'; vote := true |}). simpl in *. apply L. rewrite in_app_iff. simpl. auto.
  Qed.

  Lemma c_bounds : 1 / 2 <= c_fair /\ c_fair * (1 + exp (- alpha)) = 1.
  Proof.
    assert (0 < exp (- alpha) <= 1).
    { split; [apply exp_pos|]. rewrite <- exp_0. apply exp_le. lra. }
    unfold c_fair. split; [|field; lra]. apply Rmult_le_reg_r with (1 + exp (- alpha)); [lra|].
    rewrite Rinv_l; lra.
  Qed.

  (** inside of a region: the error is at most one half and changes by at most e^e *)
  Lemma inside d d' e : alpha <= d' -> d' <= d <= d' + e ->
    let x := c_fair * exp (- d) in let x' := c_fair * exp (- d') in bounded_by e x x' /\ bounded_by e (1 - x) (1 - x').
  Proof.
    intros Ha Hd x x'. destruct c_bounds as [C1 C2]. pose proof (exp_pos (- d)) as P.
    assert (X1 : x <= x') by (apply Rmult_le_compat_l; [lra|]; apply exp_le; lra).
    assert (X2 : x' <= exp e * x).
    { unfold x, x'. replace (exp e * (c_fair * exp (- d))) with (c_fair * (exp e * exp (- d))) by ring.
      rewrite <- exp_plus. apply Rmult_le_compat_l; [lra|]. apply exp_le. lra. }
    assert (X3 : x' <= 1 / 2).
    { apply Rle_trans with (c_fair * exp (- alpha)); [|lra]. apply Rmult_le_compat_l; [lra|]. apply exp_le. lra. }
    assert (X0 : 0 < x) by (apply Rmult_lt_0_compat; lra).
    assert (HE : 1 <= exp e) by (rewrite <- exp_0; apply exp_le; lra).
    assert (K : 1 - x <= exp e * (1 - x')).
    { assert (Q1 : 0 <= (exp e - 1) * ((exp e + 1) * (1 / 2 - x'))) by (apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; lra).
      assert (Q2 : 0 <= (exp e - 1) * (exp e - 1)) by (apply Rmult_le_pos; lra).
      apply Rmult_le_reg_l with (exp e); [lra|]. nra. }
    unfold bounded_by. replace (1 - (1 - x)) with x by lra. replace (1 - (1 - x')) with x' by lra.
    repeat split; try lra; nra.
  Qed.

  (** across the boundary: one of the two costs is alpha, both are at most e *)
  Lemma across d d' e : alpha <= d <= e -> alpha <= d' <= e -> (d = alpha \/ d' = alpha) ->
    bounded_by e (1 - c_fair * exp (- d)) (c_fair * exp (- d')).
  Proof.
    intros Hd Hd' Hm. destruct c_bounds as [C1 C2].
    set (A := exp (- alpha)) in *. set (E := exp e).
    assert (EE : E * exp (- e) = 1) by (unfold E; rewrite <- exp_plus; replace (e + - e) with 0 by lra; apply exp_0).
    assert (B : forall z, alpha <= z <= e -> exp (- e) <= exp (- z) <= A).
    { intros z Hz. split; apply exp_le; lra. }
    pose proof (B d Hd) as Bd. pose proof (B d' Hd') as Bd'. pose proof (B alpha ltac:(lra)) as Ba.
    pose proof (exp_pos (- e)) as Pe. assert (HE : 1 <= E) by (unfold E; rewrite <- exp_0; apply exp_le; lra).
    assert (K : forall X X', exp (- e) <= X <= A -> exp (- e) <= X' <= A -> (X = A \/ X' = A) -> 1 - c_fair * X <= E * (c_fair * X')).
    { intros X X' HX HX' [->| ->].
      - replace (1 - c_fair * A) with c_fair by lra.
        assert (c_fair * (E * exp (- e)) <= c_fair * (E * X')) by (apply Rmult_le_compat_l; [lra|]; apply Rmult_le_compat_l; lra).
        rewrite EE in H. lra.
      - assert (S1 : 1 + A - X <= E * A).
        { assert (0 <= (E - 1) * (A - exp (- e))) by (apply Rmult_le_pos; lra). nra. }
        assert (c_fair * (1 + A - X) <= c_fair * (E * A)) by (apply Rmult_le_compat_l; lra). lra. }
    assert (Sm : forall X, exp (- e) <= X <= A -> c_fair * X <= 1 / 2).
    { intros X HX. assert (c_fair * X <= c_fair * A) by (apply Rmult_le_compat_l; lra). lra. }
    assert (Hm1 : exp (- d) = A \/ exp (- d') = A) by (destruct Hm as [-> | ->]; auto).
    pose proof (Sm _ Bd). pose proof (Sm _ Bd').
    pose proof (K (exp (- d)) (exp (- d')) Bd Bd' Hm1). pose proof (K (exp (- d')) (exp (- d)) Bd' Bd ltac:(tauto)).
    unfold bounded_by. fold E. repeat split; try lra; nra.
  Qed.

  Lemma cost_one x D i d : In i D -> vote i = x -> people_ok D -> cheapest (levels_of x D) 1 d -> d <= level i.
  Proof.
    intros Hi Hx Ho C.
    assert (In (level i) (levels_of x D)).
    { apply in_map_iff. exists i. split; auto. apply filter_In. split; auto. rewrite Hx. destruct x; auto. }
    apply in_split in H. destruct H as (l1 & l2 & H). rewrite H in C. apply at_most_one in C; lra.
  Qed.
  Lemma cost_least x D m d : 1 <= m -> 0 <= alpha -> (forall i, In i D -> alpha <= level i) -> cheapest (levels_of x D) m d -> alpha <= d.
  Proof.
    intros Hm Ha L [S _]. apply (sel_cost alpha) in S; [nra|].
    intros a H. apply in_map_iff in H. destruct H as (i & <- & Hi). apply filter_In in Hi. now apply L.
  Qed.

  (** proven.md section 5, fair law: it gives every person their own level, for every threshold t. *)
  Theorem fair_law_private e D D' d d' : turned e D D' -> least_level D -> cost D d -> cost D' d' ->
    bounded_by e (fair D d) (fair D' d').
  Proof.
    intros T L H H'. destruct (least_turned e D D' T L) as [L' Ae]. destruct L as [(i & Hi & Ei) L].
    destruct L' as [_ L'].
    assert (Ho : people_ok D) by (intros j Hj; specialize (L j Hj); lra).
    assert (Ho' : people_ok D') by (intros j Hj; specialize (L' j Hj); lra).
    pose proof (levels_of_ok true _ Ho) as Y. pose proof (levels_of_ok false _ Ho') as N'.
    unfold cost, fair, count_yes in *.
    assert (TT := T). destruct T as [D1 D2 e He].
    assert (EY : levels_of true (D1 ++ {| level := e; vote := true |} :: D2) = levels_of true D1 ++ e :: levels_of true D2)
      by (rewrite levels_of_app; reflexivity).
    assert (EY' : levels_of true (D1 ++ {| level := e; vote := false |} :: D2) = levels_of true D1 ++ levels_of true D2)
      by (rewrite levels_of_app; reflexivity).
    assert (EN : levels_of false (D1 ++ {| level := e; vote := true |} :: D2) = levels_of false D1 ++ levels_of false D2)
      by (rewrite levels_of_app; reflexivity).
    assert (EN' : levels_of false (D1 ++ {| level := e; vote := false |} :: D2) = levels_of false D1 ++ e :: levels_of false D2)
      by (rewrite levels_of_app; reflexivity).
    set (D := D1 ++ {| level := e; vote := true |} :: D2) in *.
    set (D' := D1 ++ {| level := e; vote := false |} :: D2) in *.
    set (y := length (levels_of true D1 ++ levels_of true D2)).
    assert (ly : length (levels_of true D) = S y) by (rewrite EY; unfold y; rewrite !app_length; simpl; lia).
    assert (ly' : length (levels_of true D') = y) by (rewrite EY'; reflexivity).
    rewrite ly, ly' in *. rewrite S_INR in H.
    destruct (le_lt_dec t (S y)) as [c|c]; destruct (le_lt_dec t y) as [c'|c']; try lia.
    - (* yes is true in both tables *)
      apply le_INR in c'. rewrite EY in H. rewrite EY' in H'.
      assert (A' : alpha <= d') by (apply (cost_least true D' (INR y - INR t + 1)); auto; [lra|rewrite EY'; auto]).
      replace (INR y + 1 - INR t + 1) with (1 + (INR y - INR t + 1)) in H by lra. rewrite EY in Y.
      pose proof (one_more _ _ _ _ _ _ Y H' H). destruct (inside d d' e A' ltac:(lra)) as [_ K]. exact K.
    - (* the answer changes *)
      assert (ty : t = S y) by lia. rewrite ty, S_INR in *.
      replace (INR y + 1 - (INR y + 1) + 1) with 1 in H by lra. replace (INR y + 1 - INR y) with 1 in H' by lra.
      apply across.
      + split; [now apply (cost_least true D 1); auto; lra|].
        apply (cost_one true D {| level := e; vote := true |}); auto. unfold D. rewrite in_app_iff. simpl. auto.
      + split; [now apply (cost_least false D' 1); auto; lra|].
        apply (cost_one false D' {| level := e; vote := false |}); auto. unfold D'. rewrite in_app_iff. simpl. auto.
      + destruct (bool_dec (vote i) true) as [v|v].
        * left. apply Rle_antisym; [|apply (cost_least true D 1); auto; lra]. rewrite <- Ei. apply (cost_one true D i); auto.
        * right. apply not_true_is_false in v. apply Rle_antisym; [|apply (cost_least false D' 1); auto; lra].
          rewrite <- Ei. apply (cost_one false D' i); auto.
          unfold D in Hi. unfold D'. rewrite in_app_iff in *. simpl in *. destruct Hi as [Hi|[Hi|Hi]]; auto. subst i. discriminate.
    - (* no is true in both tables *)
      rewrite EN in H. rewrite EN' in H'.
      assert (A : alpha <= d).
      { apply (cost_least false D (INR t - (INR y + 1))); auto; [|rewrite EN; auto].
        assert (K : (S (S y) <= t)%nat) by lia.
        apply le_INR in K. rewrite !S_INR in K. lra. }
      replace (INR t - INR y) with (1 + (INR t - (INR y + 1))) in H' by lra. rewrite EN' in N'.
      pose proof (one_more _ _ _ _ _ _ N' H H'). destruct (inside d' d e A ltac:(lra)) as [(K1 & K2 & K3 & K4) _].
      unfold bounded_by. tauto.
  Qed.

  (** proven.md section 5, fair law: its error is never above that of the balanced law, whose constant has the
      dearest level a_k of the k people in place of the least level of all. *)
  Theorem fair_law_beats_balanced d ak : alpha <= ak -> c_fair * exp (- d) <= exp (- d) / (1 + exp (- ak)).
  Proof.
    intros H. pose proof (exp_pos (- ak)). pose proof (exp_pos (- d)). unfold c_fair, Rdiv. rewrite Rmult_comm.
    apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; [lra|]. apply Rplus_le_compat_l, exp_le. lra.
  Qed.

  (** people turn one after the other, from yes to no, at the total level s *)
  Inductive turned_many : R -> list person -> list person -> Prop :=
  | turned_none D : turned_many 0 D D
  | turned_one e s D D1 D' : turned e D D1 -> turned_many s D1 D' -> turned_many (e + s) D D'.
  (** proven.md section 5, fair law: a law that gives every person their own level, and the true answer at least
      one half, errs with at least e^(-s)/2 wherever people of the total level s can change the truth. *)
  Theorem no_law_errs_less (p : list person -> R) : (forall e D D', turned e D D' -> bounded_by e (p D) (p D')) ->
    (forall D, 1 / 2 <= if le_lt_dec t (length (levels_of true D)) then p D else 1 - p D) ->
    forall s D D', turned_many s D D' -> (t <= length (levels_of true D))%nat -> (length (levels_of true D') < t)%nat ->
    exp (- s) / 2 <= 1 - p D /\ exp (- s) / 2 <= p D'.
  Proof.
    intros P T s D D' H Y N.
    assert (B : 1 - p D' <= exp s * (1 - p D) /\ p D <= exp s * p D').
    { clear Y N. induction H as [D|e s D D1 D' H1 H2 [I1 I2]]; [rewrite exp_0; lra|]. rewrite exp_plus.
      destruct (P e D D1 H1) as (B1 & _ & _ & B4). pose proof (exp_pos e). pose proof (exp_pos s). split; nra. }
    assert (K : exp (- s) * exp s = 1) by (rewrite <- exp_plus; replace (- s + s) with 0 by lra; apply exp_0).
    pose proof (T D) as TD. pose proof (T D') as TD'. pose proof (exp_pos (- s)) as E.
    destruct (le_lt_dec t (length (levels_of true D))); [|lia]. destruct (le_lt_dec t (length (levels_of true D'))); [lia|].
    assert (Q : forall a b, 1 / 2 <= a -> a <= exp s * b -> exp (- s) / 2 <= b).
    { intros a b Ha Hb. assert (exp (- s) * a <= exp (- s) * (exp s * b)) by (apply Rmult_le_compat_l; lra).
      rewrite <- Rmult_assoc, K in H0. nra. }
    split; [apply (Q (1 - p D') _ TD'); tauto|apply (Q (p D) _ TD); tauto].
  Qed.
End FairLaw.
