"""Statements with a named mistake: each can be read by Coq, and none of them has our proof."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tools.proofs import PROOFS, assumptions, compile_all, compile_one, forbidden_words, kernel_findings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed (apt-get install coq)"),
]


class Twin(NamedTuple):
    """A file of proofs/, a piece of it, and the same piece with a mistake."""

    mistake: str
    file: str
    right: str
    wrong: str


TWINS = [
    Twin(
        "erratum 001-1: delta outside of the inner minimum",
        "StepFunction",
        "Rmin 1 (Rmin (E * s + d) (1 - (1 - s - d) / E)).",
        "Rmin 1 (Rmin (E * s) (1 - (1 - s) / E) + d).",
    ),
    Twin(
        "erratum 000-2: a factor E too many",
        "StepFunction",
        "Rmin 1 (Rmin (E * s + d) (1 - (1 - s - d) / E)).",
        "Rmin 1 (Rmin (E * s + d) (1 - (1 - s - E * d) / E)).",
    ),
    Twin(
        "a directed edge whose way back has the level of the way there",
        "StepFunction",
        "dual (Fdir E d E' d') (Fdir E' d' E d)",
        "dual (Fdir E d E' d') (Fdir E d E' d')",
    ),
    Twin(
        "erratum 000-1: the distance to the nearest other answer",
        "OneLevel",
        "match d v with Some n => iter G n (pre (m (pref v)) (pref v) k) | None => 1 end.",
        "match d v with Some n => iter G (Datatypes.S n) (pre (m (pref v)) (pref v) k) | None => 1 end.",
    ),
    Twin(
        "erratum 001-7: boundary values compared rank by rank",
        "OneLevel",
        "    closeF G ans (m (pref u)) (m (pref v)).",
        "    forall k, pre (m (pref u)) (pref u) k <= G (pre (m (pref v)) (pref v) k).",
    ),
    Twin(
        "erratum 001-3: one step too many in the first phase",
        "ManySteps",
        "(forall i, (i < tau)%nat -> E ^ i * (s + rho0) <= (E - 1 + 2 * d) / (E * E - 1)) ->",
        "(forall i, (S i < tau)%nat -> E ^ i * (s + rho0) <= (E - 1 + 2 * d) / (E * E - 1)) ->",
    ),
    Twin(
        "erratum 003-2: a lost sign in the second phase",
        "ManySteps",
        "(1 - (E ^ tau * (s + rho0) - rho0) + rho0) / E ^ (t - tau)).",
        "(1 - (E ^ tau * (s + rho0) - rho0) + rho0) * E ^ (t - tau)).",
    ),
    Twin(
        "erratum 003-1: a complement is missing",
        "TwoAnswers",
        "if truth v then A v else 1 - A' v.",
        "if truth v then A v else A' v.",
    ),
    Twin(
        "an envelope that walks directed edges backwards",
        "Envelope",
        "path_bound S u x -> edge u v G -> path_bound S v (G x).",
        "path_bound S u x -> edge v u G -> path_bound S v (G x).",
    ),
    Twin(
        "the fair design: across the boundary with t(u) in place of 1 - t(u)",
        "FairDesign",
        "      G (1 - t u) <= U v -> reason v",
        "      G (t u) <= U v -> reason v",
    ),
    Twin(
        "the fair design: a reason with a larger chance than its dataset",
        "FairDesign",
        "(rank u < rank v)%nat -> t u <= t v -> G (U u) <= U v",
        "(rank u < rank v)%nat -> t v <= t u -> G (U u) <= U v",
    ),
    Twin(
        "a morphism onto a laxer edge",
        "Morphism",
        "Definition stricter (H G : R -> R) := forall s, 0 <= s <= 1 -> H s <= G s.",
        "Definition stricter (H G : R -> R) := forall s, 0 <= s <= 1 -> G s <= H s.",
    ),
    Twin(
        "counts: delta taken away after the division",
        "Counts",
        "Datatypes.S k => Rmax 0 ((T k - d) / E) end.",
        "Datatypes.S k => Rmax 0 (T k / E - d) end.",
    ),
    Twin(
        "counts: a lower bound for one step less",
        "Counts",
        "0 <= a <= 1 -> iter G (2 * k + 1) a = 1 - a ->",
        "0 <= a <= 1 -> iter G (2 * k) a = 1 - a ->",
    ),
    Twin(
        "the cut theorem with twice the delta",
        "Cut",
        "  Hypothesis beta_range : 0 <= beta < 1 / 2.\n  Hypothesis beta_tight : (E - 1) * beta <= d * (1 - 2 * beta).",
        "  Hypothesis beta_range : 0 <= beta < 1 / 2.\n  Hypothesis beta_tight : (E - 1) * beta <= 2 * d * (1 - 2 * beta).",
    ),
    Twin(
        "two answers with beta = delta",
        "Cut",
        "  Hypothesis Hb : 0 <= beta < 1 / 2.\n  Hypothesis beta_tight : (E - 1) * beta <= d * (1 - 2 * beta).",
        "  Hypothesis Hb : 0 <= beta < 1 / 2.\n  Hypothesis beta_tight : beta = d.",
    ),
    Twin(
        "the crossing with the full epsilon in its weights",
        "Crossing",
        "Definition l' t := l t * exp (eta * h t).",
        "Definition l' t := l t * exp (2 * eta * h t).",
    ),
    Twin(
        "the crossing for a peak of both signs",
        "Crossing",
        "(rising \\/ falling \\/ ((forall i, (i < N)%nat -> 0 <= h i) /\\ peak)",
        "(rising \\/ falling \\/ ((forall i, (i < N)%nat -> -1 <= h i) /\\ peak)",
    ),
    Twin(
        "the quantile with the full epsilon in its weights",
        "Quantile",
        "Definition wl (D : list record) t := m t * exp (eps / 2 * IZR (acut D t)).",
        "Definition wl (D : list record) t := m t * exp (eps * IZR (acut D t)).",
    ),
    Twin(
        "the mean in units of half of the range",
        "Mean",
        "Definition wsub (t : nat) := hi - lo.",
        "Definition wsub (t : nat) := (hi - lo) / 2.",
    ),
    Twin(
        "the mean for added and removed records, promised for replaced ones",
        "Mean",
        "crossing (height wsub D') j <= exp eps * crossing (height wsub D) j.",
        "crossing (height (fun t => Rmax (hi - tau t) (tau t - lo)) D') j"
        " <= exp eps * crossing (height (fun t => Rmax (hi - tau t) (tau t - lo)) D) j.",
    ),
    Twin(
        "the mean with a cut beyond the range",
        "Mean",
        "lo <= tau t <= hi.",
        "lo <= tau t <= hi + (hi - lo).",
    ),
    Twin(
        "the ratio for added and removed records, promised for replaced ones",
        "Mean",
        "Definition wratio (t : nat) := alpha + rt t * B.",
        "Definition wratio (t : nat) := Rmax alpha (rt t * B).",
    ),
    Twin(
        "FLIP outside of its region",
        "Flip",
        "Hypothesis rule : INR (length ans - 1) * x <= 1.",
        "Hypothesis rule : INR (length ans - 1) * x <= 2.",
    ),
    Twin("FLIP with c = 1/2", "Flip", "Definition c := / (1 + x).", "Definition c := / 2."),
    Twin(
        "the staircase for a sum that moves by one step more",
        "Staircase",
        "forall z y y', (Z.abs (y - y') <= Delta)%Z ->",
        "forall z y y', (Z.abs (y - y') <= Delta + 1)%Z ->",
    ),
    Twin(
        "the fair law with alpha below the least level",
        "Votes",
        "(exists i, In i D /\\ level i = alpha)",
        "(exists i, In i D /\\ alpha <= level i)",
    ),
    Twin(
        "the fair law with one half in place of its constant", "Votes", "Definition c_fair := / (1 + exp (- alpha)).",
        "Definition c_fair := / 2.",
    ),
    Twin(
        "the hedge with tau and 1 - tau exchanged",
        "Votes",
        "(1 - tau) * s0 + tau * sn = weighted tau D.",
        "tau * s0 + (1 - tau) * sn = weighted tau D.",
    ),
    Twin(
        "a replaced person with delta counted twice alone",
        "Groups",
        "after) S + (d + E * d).",
        "after) S + (d + d).",
    ),
    Twin("a value of the fair law that our functions do not compute", "Computed", "(119#135).", "(118#135)."),
    Twin(
        "a mean that our functions do not compute", "Computed", "[(1#8224); (31#32); (8#257)].", "[(8#257); (31#32); (1#8224)]."
    ),
]  # fmt: skip


def unproven(text: str) -> str:
    """The definitions and statements of a file, with every proof left out."""
    return re.sub(r"Proof\..*?Qed\.", "Admitted.", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proofs")
    compile_all(PROOFS, folder)
    return folder


@pytest.fixture
def accepts(compiled: Path, tmp_path: Path) -> Callable[[str, str], bool]:
    """Whether Coq accepts a text in place of a file, beside all the others."""

    def tried(file: str, text: str) -> bool:
        folder = tmp_path / "beside"
        shutil.copytree(compiled, folder, dirs_exist_ok=True)
        (folder / f"{file}.v").write_text(text)
        try:
            compile_one(folder, file)
        except subprocess.CalledProcessError:
            return False
        return True

    return tried


@pytest.mark.parametrize("file", sorted({twin.file for twin in TWINS}))
def test_the_file_itself_is_accepted(file: str, accepts: Callable[[str, str], bool]) -> None:
    assert accepts(file, (PROOFS / f"{file}.v").read_text())


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.mistake)
def test_a_mistake_stops_the_build(twin: Twin, accepts: Callable[[str, str], bool]) -> None:
    text = (PROOFS / f"{twin.file}.v").read_text()
    assert text.count(twin.right) == 1
    wrong = text.replace(twin.right, twin.wrong)
    assert accepts(twin.file, unproven(wrong)), "Coq must be able to read the statement"
    assert not accepts(twin.file, wrong)


# Ways to prove what is false, without a proof: the compiler takes each of them.
CHEATS = {
    "a variable outside of sections": "Variable h : 1 = 2.\nLemma a : 1 = 2.\nProof. exact h. Qed.",
    "a context outside of sections": "Context (h : 1 = 2).\nLemma a : 1 = 2.\nProof. exact h. Qed.",
    "a module without a body": "Module Type T.\nAxiom f : 1 = 2.\nEnd T.\nDeclare Module M : T.\n"
    "Lemma a : 1 = 2.\nProof. exact M.f. Qed.",
    "an obligation that nobody meets": "Require Import Program.\nProgram Definition d : 1 = 2 := _.\nAdmit Obligations.\n"
    "Lemma a : 1 = 2.\nProof. exact d. Qed.",
    "a recursion without an end": "Unset Guard Checking.\nFixpoint f (n : nat) : False := f n.\n"
    "Lemma a : False.\nProof. exact (f 0). Qed.",
    "the same by an attribute": "#[bypass_check(guard)]\nFixpoint f (n : nat) : False := f n.\n"
    "Lemma a : False.\nProof. exact (f 0). Qed.",
    "a type of all types": "Unset Universe Checking.\nDefinition U := Type.\nDefinition u : U := U.",
    "a type that is not positive": "Unset Positivity Checking.\nInductive B : Type := b : (B -> False) -> B.",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_what_hides_a_missing_proof_is_seen_by_words_and_by_the_checker(cheat: str, tmp_path: Path) -> None:
    (tmp_path / "Cheat.v").write_text(f"{CHEATS[cheat]}\n")
    compile_one(tmp_path, "Cheat")
    assert forbidden_words(CHEATS[cheat]) != []
    assert any("has no proof" in finding for finding in kernel_findings(tmp_path))


@pytest.mark.parametrize("kind", ["Lemma", "Example", "#[local] Fact"])
def test_an_axiom_of_a_library_is_seen(kind: str, tmp_path: Path) -> None:
    proof = "(P : Prop) (x y : P) : x = y.\nProof. apply proof_irrelevance. Qed."
    (tmp_path / "More.v").write_text(f"Require Import Coq.Logic.ProofIrrelevance.\n{kind} a {proof}\n")
    compile_one(tmp_path, "More")
    assert assumptions(tmp_path) == ["ProofIrrelevance.proof_irrelevance"]
