(** Values that our own functions computed, evaluated again by Coq from the definitions of the theorems.

    Written by `python -m tools.proofs compute`; do not edit. `make proofs-check` fails when the functions say something else. *)
Require Import Reals QArith Qreals List ZArith.
Require Import DP.StepFunction DP.OneLevel DP.Counts DP.Quantile DP.Staircase DP.Rational.
Import ListNotations.
Open Scope Q_scope.
Example power_4 : iter (F (Q2R (1#1)) (Q2R (1#1000))) 12 (Q2R (0#1)) = (Q2R (3#250)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_5 : iter (F (Q2R (1#1)) (Q2R (1#1000))) 0 (Q2R (1#20)) = (Q2R (1#20)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_6 : iter (F (Q2R (1#1)) (Q2R (1#1000))) 1 (Q2R (3#10)) = (Q2R (301#1000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_7 : iter (F (Q2R (1#1)) (Q2R (1#1000))) 2 (Q2R (17#20)) = (Q2R (213#250)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_8 : iter (F (Q2R (1#1)) (Q2R (1#50))) 5 (Q2R (0#1)) = (Q2R (1#10)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_9 : iter (F (Q2R (1#1)) (Q2R (1#50))) 12 (Q2R (1#20)) = (Q2R (29#100)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_10 : iter (F (Q2R (1#1)) (Q2R (1#50))) 0 (Q2R (3#10)) = (Q2R (3#10)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_11 : iter (F (Q2R (1#1)) (Q2R (1#50))) 1 (Q2R (17#20)) = (Q2R (87#100)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_12 : iter (F (Q2R (1#1)) (Q2R (1#3))) 2 (Q2R (0#1)) = (Q2R (2#3)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_13 : iter (F (Q2R (1#1)) (Q2R (1#3))) 5 (Q2R (1#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_14 : iter (F (Q2R (1#1)) (Q2R (1#3))) 12 (Q2R (3#10)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_15 : iter (F (Q2R (1#1)) (Q2R (1#3))) 0 (Q2R (17#20)) = (Q2R (17#20)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_16 : iter (F (Q2R (11#10)) (Q2R (0#1))) 1 (Q2R (0#1)) = (Q2R (0#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_17 : iter (F (Q2R (11#10)) (Q2R (0#1))) 2 (Q2R (1#20)) = (Q2R (121#2000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_18 : iter (F (Q2R (11#10)) (Q2R (0#1))) 5 (Q2R (3#10)) = (Q2R (483153#1000000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_19 : iter (F (Q2R (11#10)) (Q2R (0#1))) 12 (Q2R (17#20)) = (Q2R (2988428376721#3138428376721)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_20 : iter (F (Q2R (11#10)) (Q2R (1#1000))) 0 (Q2R (0#1)) = (Q2R (0#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_21 : iter (F (Q2R (11#10)) (Q2R (1#1000))) 1 (Q2R (1#20)) = (Q2R (7#125)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_22 : iter (F (Q2R (11#10)) (Q2R (1#1000))) 2 (Q2R (3#10)) = (Q2R (3651#10000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_23 : iter (F (Q2R (11#10)) (Q2R (1#1000))) 5 (Q2R (17#20)) = (Q2R (14666151#16105100)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_24 : iter (F (Q2R (11#10)) (Q2R (1#50))) 12 (Q2R (0#1)) = (Q2R (2138428376721#5000000000000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_25 : iter (F (Q2R (11#10)) (Q2R (1#50))) 0 (Q2R (1#20)) = (Q2R (1#20)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_26 : iter (F (Q2R (11#10)) (Q2R (1#50))) 1 (Q2R (3#10)) = (Q2R (7#20)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_27 : iter (F (Q2R (11#10)) (Q2R (1#50))) 2 (Q2R (17#20)) = (Q2R (551#605)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_28 : iter (F (Q2R (11#10)) (Q2R (1#3))) 5 (Q2R (0#1)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_29 : iter (F (Q2R (11#10)) (Q2R (1#3))) 12 (Q2R (1#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_30 : iter (F (Q2R (11#10)) (Q2R (1#3))) 0 (Q2R (3#10)) = (Q2R (3#10)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_31 : iter (F (Q2R (11#10)) (Q2R (1#3))) 1 (Q2R (17#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_32 : iter (F (Q2R (3#2)) (Q2R (0#1))) 2 (Q2R (0#1)) = (Q2R (0#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_33 : iter (F (Q2R (3#2)) (Q2R (0#1))) 5 (Q2R (1#20)) = (Q2R (243#640)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_34 : iter (F (Q2R (3#2)) (Q2R (0#1))) 12 (Q2R (3#10)) = (Q2R (880103#885735)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_35 : iter (F (Q2R (3#2)) (Q2R (0#1))) 0 (Q2R (17#20)) = (Q2R (17#20)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_36 : iter (F (Q2R (3#2)) (Q2R (1#1000))) 1 (Q2R (0#1)) = (Q2R (1#1000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_37 : iter (F (Q2R (3#2)) (Q2R (1#1000))) 2 (Q2R (1#20)) = (Q2R (23#200)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_38 : iter (F (Q2R (3#2)) (Q2R (1#1000))) 5 (Q2R (3#10)) = (Q2R (36173#40500)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_39 : iter (F (Q2R (3#2)) (Q2R (1#1000))) 12 (Q2R (17#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_40 : iter (F (Q2R (3#2)) (Q2R (1#50))) 0 (Q2R (0#1)) = (Q2R (0#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_41 : iter (F (Q2R (3#2)) (Q2R (1#50))) 1 (Q2R (1#20)) = (Q2R (19#200)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_42 : iter (F (Q2R (3#2)) (Q2R (1#50))) 2 (Q2R (3#10)) = (Q2R (33#50)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_43 : iter (F (Q2R (3#2)) (Q2R (1#50))) 5 (Q2R (17#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_44 : iter (F (Q2R (3#2)) (Q2R (1#3))) 12 (Q2R (0#1)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_45 : iter (F (Q2R (3#2)) (Q2R (1#3))) 0 (Q2R (1#20)) = (Q2R (1#20)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_46 : iter (F (Q2R (3#2)) (Q2R (1#3))) 1 (Q2R (3#10)) = (Q2R (34#45)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_47 : iter (F (Q2R (3#2)) (Q2R (1#3))) 2 (Q2R (17#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_48 : iter (F (Q2R (2#1)) (Q2R (0#1))) 5 (Q2R (0#1)) = (Q2R (0#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_49 : iter (F (Q2R (2#1)) (Q2R (0#1))) 12 (Q2R (1#20)) = (Q2R (2557#2560)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_50 : iter (F (Q2R (2#1)) (Q2R (0#1))) 0 (Q2R (3#10)) = (Q2R (3#10)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_51 : iter (F (Q2R (2#1)) (Q2R (0#1))) 1 (Q2R (17#20)) = (Q2R (37#40)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_52 : iter (F (Q2R (2#1)) (Q2R (1#1000))) 2 (Q2R (0#1)) = (Q2R (3#1000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_53 : iter (F (Q2R (2#1)) (Q2R (1#1000))) 5 (Q2R (1#20)) = (Q2R (341#400)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_54 : iter (F (Q2R (2#1)) (Q2R (1#1000))) 12 (Q2R (3#10)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_55 : iter (F (Q2R (2#1)) (Q2R (1#1000))) 0 (Q2R (17#20)) = (Q2R (17#20)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_56 : iter (F (Q2R (2#1)) (Q2R (1#50))) 1 (Q2R (0#1)) = (Q2R (1#50)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_57 : iter (F (Q2R (2#1)) (Q2R (1#50))) 2 (Q2R (1#20)) = (Q2R (13#50)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_58 : iter (F (Q2R (2#1)) (Q2R (1#50))) 5 (Q2R (3#10)) = (Q2R (199#200)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_59 : iter (F (Q2R (2#1)) (Q2R (1#50))) 12 (Q2R (17#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_60 : iter (F (Q2R (2#1)) (Q2R (1#3))) 0 (Q2R (0#1)) = (Q2R (0#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_61 : iter (F (Q2R (2#1)) (Q2R (1#3))) 1 (Q2R (1#20)) = (Q2R (13#30)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_62 : iter (F (Q2R (2#1)) (Q2R (1#3))) 2 (Q2R (3#10)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_63 : iter (F (Q2R (2#1)) (Q2R (1#3))) 5 (Q2R (17#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_64 : iter (F (Q2R (7#1)) (Q2R (0#1))) 12 (Q2R (0#1)) = (Q2R (0#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_65 : iter (F (Q2R (7#1)) (Q2R (0#1))) 0 (Q2R (1#20)) = (Q2R (1#20)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_66 : iter (F (Q2R (7#1)) (Q2R (0#1))) 1 (Q2R (3#10)) = (Q2R (9#10)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_67 : iter (F (Q2R (7#1)) (Q2R (0#1))) 2 (Q2R (17#20)) = (Q2R (977#980)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_68 : iter (F (Q2R (7#1)) (Q2R (1#1000))) 5 (Q2R (0#1)) = (Q2R (6401#7000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_69 : iter (F (Q2R (7#1)) (Q2R (1#1000))) 12 (Q2R (1#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_70 : iter (F (Q2R (7#1)) (Q2R (1#1000))) 0 (Q2R (3#10)) = (Q2R (3#10)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_71 : iter (F (Q2R (7#1)) (Q2R (1#1000))) 1 (Q2R (17#20)) = (Q2R (6851#7000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_72 : iter (F (Q2R (7#1)) (Q2R (1#50))) 2 (Q2R (0#1)) = (Q2R (4#25)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_73 : iter (F (Q2R (7#1)) (Q2R (1#50))) 5 (Q2R (1#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_74 : iter (F (Q2R (7#1)) (Q2R (1#50))) 12 (Q2R (3#10)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_75 : iter (F (Q2R (7#1)) (Q2R (1#50))) 0 (Q2R (17#20)) = (Q2R (17#20)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_76 : iter (F (Q2R (7#1)) (Q2R (1#3))) 1 (Q2R (0#1)) = (Q2R (1#3)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_77 : iter (F (Q2R (7#1)) (Q2R (1#3))) 2 (Q2R (1#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_78 : iter (F (Q2R (7#1)) (Q2R (1#3))) 5 (Q2R (3#10)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example power_79 : iter (F (Q2R (7#1)) (Q2R (1#3))) 12 (Q2R (17#20)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example tail_0 : T (Q2R (11#10)) (Q2R (0#1)) 0 = (Q2R (10#21)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_1 : T (Q2R (11#10)) (Q2R (0#1)) 2 = (Q2R (1000#2541)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_2 : T (Q2R (11#10)) (Q2R (0#1)) 4 = (Q2R (100000#307461)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_3 : T (Q2R (11#10)) (Q2R (0#1)) 6 = (Q2R (10000000#37202781)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_4 : T (Q2R (11#10)) (Q2R (1#1000)) 0 = (Q2R (333#700)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_5 : T (Q2R (11#10)) (Q2R (1#1000)) 2 = (Q2R (33153#84700)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_6 : T (Q2R (11#10)) (Q2R (1#1000)) 4 = (Q2R (3297513#10248700)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_7 : T (Q2R (11#10)) (Q2R (1#1000)) 6 = (Q2R (327599073#1240092700)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_8 : T (Q2R (11#10)) (Q2R (1#50)) 0 = (Q2R (7#15)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_9 : T (Q2R (11#10)) (Q2R (1#50)) 2 = (Q2R (637#1815)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_10 : T (Q2R (11#10)) (Q2R (1#50)) 4 = (Q2R (56077#219615)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_11 : T (Q2R (11#10)) (Q2R (1#50)) 6 = (Q2R (4685317#26573415)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_12 : T (Q2R (11#10)) (Q2R (1#3)) 0 = (Q2R (20#63)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_13 : T (Q2R (11#10)) (Q2R (1#3)) 2 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_14 : T (Q2R (11#10)) (Q2R (1#3)) 4 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_15 : T (Q2R (11#10)) (Q2R (1#3)) 6 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_16 : T (Q2R (3#2)) (Q2R (0#1)) 0 = (Q2R (2#5)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_17 : T (Q2R (3#2)) (Q2R (0#1)) 2 = (Q2R (8#45)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_18 : T (Q2R (3#2)) (Q2R (0#1)) 4 = (Q2R (32#405)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_19 : T (Q2R (3#2)) (Q2R (0#1)) 6 = (Q2R (128#3645)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_20 : T (Q2R (3#2)) (Q2R (1#1000)) 0 = (Q2R (999#2500)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_21 : T (Q2R (3#2)) (Q2R (1#1000)) 2 = (Q2R (3971#22500)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_22 : T (Q2R (3#2)) (Q2R (1#1000)) 4 = (Q2R (15659#202500)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_23 : T (Q2R (3#2)) (Q2R (1#1000)) 6 = (Q2R (60611#1822500)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_24 : T (Q2R (3#2)) (Q2R (1#50)) 0 = (Q2R (49#125)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_25 : T (Q2R (3#2)) (Q2R (1#50)) 2 = (Q2R (19#125)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_26 : T (Q2R (3#2)) (Q2R (1#50)) 4 = (Q2R (17#375)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_27 : T (Q2R (3#2)) (Q2R (1#50)) 6 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_28 : T (Q2R (3#2)) (Q2R (1#3)) 0 = (Q2R (4#15)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_29 : T (Q2R (3#2)) (Q2R (1#3)) 2 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_30 : T (Q2R (3#2)) (Q2R (1#3)) 4 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_31 : T (Q2R (3#2)) (Q2R (1#3)) 6 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_32 : T (Q2R (2#1)) (Q2R (0#1)) 0 = (Q2R (1#3)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_33 : T (Q2R (2#1)) (Q2R (0#1)) 2 = (Q2R (1#12)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_34 : T (Q2R (2#1)) (Q2R (0#1)) 4 = (Q2R (1#48)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_35 : T (Q2R (2#1)) (Q2R (0#1)) 6 = (Q2R (1#192)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_36 : T (Q2R (2#1)) (Q2R (1#1000)) 0 = (Q2R (333#1000)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_37 : T (Q2R (2#1)) (Q2R (1#1000)) 2 = (Q2R (33#400)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_38 : T (Q2R (2#1)) (Q2R (1#1000)) 4 = (Q2R (159#8000)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_39 : T (Q2R (2#1)) (Q2R (1#1000)) 6 = (Q2R (27#6400)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_40 : T (Q2R (2#1)) (Q2R (1#50)) 0 = (Q2R (49#150)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_41 : T (Q2R (2#1)) (Q2R (1#50)) 2 = (Q2R (1#15)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_42 : T (Q2R (2#1)) (Q2R (1#50)) 4 = (Q2R (1#600)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_43 : T (Q2R (2#1)) (Q2R (1#50)) 6 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_44 : T (Q2R (2#1)) (Q2R (1#3)) 0 = (Q2R (2#9)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_45 : T (Q2R (2#1)) (Q2R (1#3)) 2 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_46 : T (Q2R (2#1)) (Q2R (1#3)) 4 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_47 : T (Q2R (2#1)) (Q2R (1#3)) 6 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_48 : T (Q2R (7#1)) (Q2R (0#1)) 0 = (Q2R (1#8)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_49 : T (Q2R (7#1)) (Q2R (0#1)) 2 = (Q2R (1#392)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_50 : T (Q2R (7#1)) (Q2R (0#1)) 4 = (Q2R (1#19208)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_51 : T (Q2R (7#1)) (Q2R (0#1)) 6 = (Q2R (1#941192)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_52 : T (Q2R (7#1)) (Q2R (1#1000)) 0 = (Q2R (999#8000)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_53 : T (Q2R (7#1)) (Q2R (1#1000)) 2 = (Q2R (187#78400)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_54 : T (Q2R (7#1)) (Q2R (1#1000)) 4 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_55 : T (Q2R (7#1)) (Q2R (1#1000)) 6 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_56 : T (Q2R (7#1)) (Q2R (1#50)) 0 = (Q2R (49#400)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_57 : T (Q2R (7#1)) (Q2R (1#50)) 2 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_58 : T (Q2R (7#1)) (Q2R (1#50)) 4 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_59 : T (Q2R (7#1)) (Q2R (1#50)) 6 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_60 : T (Q2R (7#1)) (Q2R (1#3)) 0 = (Q2R (1#12)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_61 : T (Q2R (7#1)) (Q2R (1#3)) 2 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_62 : T (Q2R (7#1)) (Q2R (1#3)) 4 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example tail_63 : T (Q2R (7#1)) (Q2R (1#3)) 6 = (Q2R (0#1)).
Proof. apply check_tail. vm_compute. reflexivity. Qed.
Example stair_0 : (Q2R (2#3) ^ Z.to_nat (level 2 1 (0)) / stairs 2 1 (Q2R (2#3)))%R = (Q2R (1#9)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_1 : (Q2R (2#3) ^ Z.to_nat (level 2 1 (3)) / stairs 2 1 (Q2R (2#3)))%R = (Q2R (4#81)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_2 : (Q2R (2#3) ^ Z.to_nat (level 2 1 (-7)) / stairs 2 1 (Q2R (2#3)))%R = (Q2R (16#729)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_3 : (Q2R (2#3) ^ Z.to_nat (level 5 3 (0)) / stairs 5 3 (Q2R (2#3)))%R = (Q2R (1#25)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_4 : (Q2R (2#3) ^ Z.to_nat (level 5 3 (3)) / stairs 5 3 (Q2R (2#3)))%R = (Q2R (2#75)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_5 : (Q2R (2#3) ^ Z.to_nat (level 5 3 (-7)) / stairs 5 3 (Q2R (2#3)))%R = (Q2R (2#75)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_6 : (Q2R (2#3) ^ Z.to_nat (level 9 5 (0)) / stairs 9 5 (Q2R (2#3)))%R = (Q2R (1#45)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_7 : (Q2R (2#3) ^ Z.to_nat (level 9 5 (3)) / stairs 9 5 (Q2R (2#3)))%R = (Q2R (1#45)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_8 : (Q2R (2#3) ^ Z.to_nat (level 9 5 (-7)) / stairs 9 5 (Q2R (2#3)))%R = (Q2R (2#135)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_9 : (Q2R (1#2) ^ Z.to_nat (level 2 1 (0)) / stairs 2 1 (Q2R (1#2)))%R = (Q2R (1#5)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_10 : (Q2R (1#2) ^ Z.to_nat (level 2 1 (3)) / stairs 2 1 (Q2R (1#2)))%R = (Q2R (1#20)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_11 : (Q2R (1#2) ^ Z.to_nat (level 2 1 (-7)) / stairs 2 1 (Q2R (1#2)))%R = (Q2R (1#80)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_12 : (Q2R (1#2) ^ Z.to_nat (level 5 3 (0)) / stairs 5 3 (Q2R (1#2)))%R = (Q2R (1#15)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_13 : (Q2R (1#2) ^ Z.to_nat (level 5 3 (3)) / stairs 5 3 (Q2R (1#2)))%R = (Q2R (1#30)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_14 : (Q2R (1#2) ^ Z.to_nat (level 5 3 (-7)) / stairs 5 3 (Q2R (1#2)))%R = (Q2R (1#30)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_15 : (Q2R (1#2) ^ Z.to_nat (level 9 4 (0)) / stairs 9 4 (Q2R (1#2)))%R = (Q2R (1#25)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_16 : (Q2R (1#2) ^ Z.to_nat (level 9 4 (3)) / stairs 9 4 (Q2R (1#2)))%R = (Q2R (1#25)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_17 : (Q2R (1#2) ^ Z.to_nat (level 9 4 (-7)) / stairs 9 4 (Q2R (1#2)))%R = (Q2R (1#50)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_18 : (Q2R (1#7) ^ Z.to_nat (level 2 1 (0)) / stairs 2 1 (Q2R (1#7)))%R = (Q2R (3#5)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_19 : (Q2R (1#7) ^ Z.to_nat (level 2 1 (3)) / stairs 2 1 (Q2R (1#7)))%R = (Q2R (3#245)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_20 : (Q2R (1#7) ^ Z.to_nat (level 2 1 (-7)) / stairs 2 1 (Q2R (1#7)))%R = (Q2R (3#12005)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_21 : (Q2R (1#7) ^ Z.to_nat (level 5 2 (0)) / stairs 5 2 (Q2R (1#7)))%R = (Q2R (3#14)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_22 : (Q2R (1#7) ^ Z.to_nat (level 5 2 (3)) / stairs 5 2 (Q2R (1#7)))%R = (Q2R (3#98)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_23 : (Q2R (1#7) ^ Z.to_nat (level 5 2 (-7)) / stairs 5 2 (Q2R (1#7)))%R = (Q2R (3#686)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_24 : (Q2R (1#7) ^ Z.to_nat (level 9 3 (0)) / stairs 9 3 (Q2R (1#7)))%R = (Q2R (1#8)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_25 : (Q2R (1#7) ^ Z.to_nat (level 9 3 (3)) / stairs 9 3 (Q2R (1#7)))%R = (Q2R (1#56)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example stair_26 : (Q2R (1#7) ^ Z.to_nat (level 9 3 (-7)) / stairs 9 3 (Q2R (1#7)))%R = (Q2R (1#56)).
Proof. apply check_stair. vm_compute. reflexivity. Qed.
Example kept_0 : iter (F (Q2R (11#10)) (Q2R (1#1000))) 0 (Q2R (0#1)) = (Q2R (0#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_1 : iter (F (Q2R (11#10)) (Q2R (1#50))) 1 (Q2R (0#1)) = (Q2R (1#50)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_2 : iter (F (Q2R (11#10)) (Q2R (1#3))) 2 (Q2R (0#1)) = (Q2R (23#33)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_3 : iter (F (Q2R (3#2)) (Q2R (1#1000))) 3 (Q2R (0#1)) = (Q2R (19#4000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_4 : iter (F (Q2R (3#2)) (Q2R (1#50))) 4 (Q2R (0#1)) = (Q2R (13#80)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_5 : iter (F (Q2R (3#2)) (Q2R (1#3))) 5 (Q2R (0#1)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_6 : iter (F (Q2R (2#1)) (Q2R (1#1000))) 6 (Q2R (0#1)) = (Q2R (63#1000)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_7 : iter (F (Q2R (2#1)) (Q2R (1#50))) 7 (Q2R (0#1)) = (Q2R (23#25)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_8 : iter (F (Q2R (2#1)) (Q2R (1#3))) 8 (Q2R (0#1)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_9 : iter (F (Q2R (7#1)) (Q2R (1#1000))) 9 (Q2R (0#1)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_10 : iter (F (Q2R (7#1)) (Q2R (1#50))) 10 (Q2R (0#1)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example kept_11 : iter (F (Q2R (7#1)) (Q2R (1#3))) 11 (Q2R (0#1)) = (Q2R (1#1)).
Proof. apply check_steps. vm_compute. reflexivity. Qed.
Example quantile_0 : smoothed_rank_is 1 2 (1#2) [(1#1); (1#1)] [5%nat; 5%nat]
  [(3#4); (1#4)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_1 : smoothed_rank_is 1 2 (9#10) [(1#1); (1#1); (1#1)] [5%nat; 0%nat; 5%nat]
  [(5#18); (179#360); (9#40)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_2 : smoothed_rank_is 1 2 (1#2) [(1#1); (1#1); (1#1); (1#1)] [0%nat; 0%nat; 0%nat; 8%nat]
  [(1#768); (1#384); (1#128); (253#256)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_3 : smoothed_rank_is 1 2 (9#10) [(1#1); (1#1); (1#1); (1#1); (1#1)] [1%nat; 0%nat; 0%nat; 0%nat; 5%nat]
  [(729#8000); (243#1600); (655559#2187000); (625#2187); (125#729)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_4 : smoothed_rank_is 1 2 (1#2) [(1#1); (1#1); (1#1); (1#1)] [2%nat; 3%nat; 1%nat; 4%nat]
  [(1#76); (149#228); (22#75); (1#25)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_5 : smoothed_rank_is 1 2 (3#4) [(1#1); (1#1); (1#1); (1#1); (1#1); (1#1); (1#1)] [1%nat; 1%nat; 1%nat; 1%nat; 1%nat; 1%nat; 1%nat]
  [(243#6734); (223290#2629627); (26808#136675); (64#175); (26808#136675); (223290#2629627); (243#6734)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_6 : smoothed_rank_is 1 1 (3#4) [(1#1); (1#1); (1#1)] [9%nat; 0%nat; 1%nat]
  [(3#16); (23#48); (1#3)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_7 : smoothed_rank_is 9 10 (3#4) [(1#1); (1#1); (1#1); (1#1); (1#1)] [3%nat; 3%nat; 3%nat; 3%nat; 3%nat]
  [(10460353203#14732912230400); (7887120663969#1508512091340800); (88671915#2442539008); (14841009#47710208); (21699407#33554432)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_8 : smoothed_rank_is 9 10 (1#5) [(5#1); (2#1); (6#1); (1#1)] [0%nat; 2%nat; 4%nat; 5%nat]
  [(1#17090332031250); (3466#582780322265625); (5118#133203125); (488262489#488281250)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_9 : smoothed_rank_is 1 10 (1#5) [(2#1); (4#1); (4#1); (6#1); (2#1); (2#1)] [2%nat; 0%nat; 2%nat; 0%nat; 3%nat; 0%nat]
  [(768249#781250); (16126#1171875); (7126#2484375); (1149#106000000); (1639#1301200000); (1#2541406250)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example quantile_10 : smoothed_rank_is 1 3 (2#3) [(1#1); (1#1); (1#1)] [0%nat; 0%nat; 0%nat]
  [(3#8); (11#24); (1#6)].
Proof. apply check_rank. vm_compute. reflexivity. Qed.
Example mean_replaced_0 : mean_is true (0#1) (2#1) [(1#2); (3#2)] (2#1) (1#2) [Some (0#1); Some (1#1); Some (2#1); None; Some (2#1)]
  [(1#136); (7#8); (2#17)].
Proof. apply check_mean. vm_compute. reflexivity. Qed.
Example mean_replaced_1 : mean_is true (0#1) (2#1) [(1#2); (3#2)] (2#1) (9#10) [Some (0#1); Some (1#1); Some (2#1); None; Some (2#1)]
  [(531441#3312200); (119#200); (4050#16561)].
Proof. apply check_mean. vm_compute. reflexivity. Qed.
Example mean_replaced_2 : mean_is true (3#1) (7#1) [(7#2); (9#2); (11#2); (13#2)] (8#1) (4#5) [Some (4#1); Some (4#1); Some (5#1); Some (7#1)]
  [(140737488355328#71563841352101281); (1044017169306896396800000000#13059174293736482595525096801); (152587890625#182482857921); (1044017169306896396800000000#13059174293736482595525096801); (140737488355328#71563841352101281)].
Proof. apply check_mean. vm_compute. reflexivity. Qed.
Example mean_replaced_3 : mean_is true (0#1) (3#1) [(1#2); (3#2); (5#2)] (1#1) (1#3) [None; None]
  [(1#6); (1#3); (1#3); (1#6)].
Proof. apply check_mean. vm_compute. reflexivity. Qed.
Example mean_replaced_4 : mean_is true (-1#1) (1#1) [(0#1)] (1#1) (2#3) [Some (-1#1); Some (1#1)]
  [(1#2); (1#2)].
Proof. apply check_mean. vm_compute. reflexivity. Qed.
Example mean_added_0 : mean_is false (0#1) (2#1) [(1#2); (3#2)] (3#1) (1#2) [Some (0#1); Some (1#1); Some (2#1); None; Some (2#1)]
  [(1#8224); (31#32); (8#257)].
Proof. apply check_mean. vm_compute. reflexivity. Qed.
Example mean_added_1 : mean_is false (0#1) (1#1) [(1#2)] (1#1) (3#4) [Some (0#1); Some (0#1); Some (1#1)]
  [(23#32); (9#32)].
Proof. apply check_mean. vm_compute. reflexivity. Qed.
Example mean_added_2 : mean_is false (0#1) (2#1) [(1#2); (3#2)] (1#1) (1#2) []
  [(1#4); (1#2); (1#4)].
Proof. apply check_mean. vm_compute. reflexivity. Qed.
Example fair_0 : fair_is 4 [((2#1), false); ((3#1), true); ((3#1), true); ((3#1), true); ((3#1), true); ((3#1), false)] (7#9).
Proof. apply check_fair. vm_compute. reflexivity. Qed.
Example fair_1 : fair_is 1 [((11#10), true); ((3#2), true); ((2#1), false); ((7#1), true)] (421#441).
Proof. apply check_fair. vm_compute. reflexivity. Qed.
Example fair_2 : fair_is 4 [((11#10), true); ((3#2), false); ((2#1), false); ((7#1), false)] (11#441).
Proof. apply check_fair. vm_compute. reflexivity. Qed.
Example fair_3 : fair_is 2 [((1#1), false); ((5#4), true); ((5#1), false)] (1#2).
Proof. apply check_fair. vm_compute. reflexivity. Qed.
Example fair_4 : fair_is 2 [((3#2), true); ((3#2), true); ((3#2), true); ((3#2), true); ((3#2), true)] (119#135).
Proof. apply check_fair. vm_compute. reflexivity. Qed.
