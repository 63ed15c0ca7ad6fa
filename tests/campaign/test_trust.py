"""The page of trust adds up, is written by the program alone, and README says nothing else."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from .counting import added, bin_of, quantile, sum_up, total
from .trust import PAGE, number, page, runs_of, write_page

README = PAGE.parents[1] / "README.md"


def record(index: int, tight: list[float | None], *whats: str, family: str = "rigor") -> dict:
    certificates: list[dict[str, Any]] = [
        {"kind": "gap", "certified": True, "tight": value, "float": True} for value in tight
    ]
    certificates.append({"kind": "none", "certified": False, "reason": "columns | too near"})
    return {
        "family": family, "index": index, "kind": "moderate", "loss": "huber", "penalty": "l1",
        "minimiser": "exists or unknown", "settled": index != 1, "certificates": certificates,
        "convictions": [{"what": what, "label": "auto", "details": ""} for what in whats],
    }  # fmt: skip


def written(path: Path, seed: int, rows: list[dict], **head: str) -> Path:
    lines = [{"seed": seed, "version": "1.0", "commit": "abc", **head}, *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_counts_are_those_of_the_records(tmp_path: Path) -> None:
    """Two problems, 3 + 1 and 1 + 1 certificates, one of them wrong in two ways."""
    rows = [record(0, [0.5, 1.0, None]), record(1, [30.0], "false gap, gross", "false dual")]
    (run,) = sum_up(written(tmp_path / "a", 1, rows))
    assert (run["problems"], run["certificates"], run["proved"], run["wrong"]) == (2, 6, 4, 1)
    assert run["unsettled"] == 1 and run["with a float gap"] == 4
    assert run["reasons"] == {"columns | too near": 2}
    assert run["tightness"] == {"huber | l1": {"0": 2, str(bin_of(30.0)): 1}}


def test_quantiles_are_never_too_small() -> None:
    """A bin's upper end is at least what is in it, and at most a tenth of a decade above."""
    values = [0.1, 1.0, 1.01, 3.0, 10.0, 1e5]
    for value in values:
        end = quantile({str(bin_of(value)): 1}, 0.5)
        assert max(value, 1.0) <= end * (1 + 1e-12) and end <= max(value, 1.0) * 10**0.1
    assert quantile({"0": 99, "20": 1}, 0.99) == 1.0
    assert quantile({"0": 98, "20": 2}, 0.99) == 100.0


def test_runs_add_up_and_none_is_counted_twice(tmp_path: Path) -> None:
    first = written(tmp_path / "a", 1, [record(0, [1.0])])
    second = written(tmp_path / "b", 2, [record(0, [1.0]), record(0, [2.0], family="old")])
    out = tmp_path / "trust.md"
    write_page([first], out)
    write_page([second], out)
    assert total(runs_of(out.read_text()))["problems"] == 3
    assert total(runs_of(out.read_text()))["certificates"] == 6
    text = out.read_text()
    write_page([first, second], out)
    assert out.read_text() == text
    write_page([first], out, anew=True)
    assert total(runs_of(out.read_text()))["problems"] == 1


def test_the_page_says_what_was_counted(tmp_path: Path) -> None:
    rows = [record(k, [1.0, 50.0]) for k in range(1200)]
    text = page(added([], sum_up(written(tmp_path / "a", 7, rows))))
    for said in (
        "| problems | 1 200 |", "| certificates judged | 3 600 |", "| **wrong** | **0** |",
        "| `none` | 1 200 | 33.33 % |", "| columns \\| too near | 1 200 | 33.33 % |",
        "--family rigor --problems 1200 --seed 7`, dualgap 1.0 (abc)", "| huber | 2 400 | 1.0 |",
    ):  # fmt: skip
        assert said in text
    assert page(runs_of(text)) == text


def test_a_file_without_a_seed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(SystemExit, match="names no seed"):
        sum_up(tmp_path / "a")


# ---- the page and README as they are ----


@pytest.mark.skipif(not PAGE.exists(), reason="no campaign has been written down yet")
def test_nobody_has_edited_the_page() -> None:
    text = PAGE.read_text()
    assert page(runs_of(text)) == text


def figures(text: str) -> list[str]:
    """Numbers of problems and certificates in README, and of wrong ones.

    Such as "12 000 problems", "1,200,000 certificates", "0 wrong": without the gaps in them.
    """
    found = re.findall(r"(\d[\d  ,]*) (problems|certificates|wrong)\b", text)
    return [f"{re.sub(r'[^0-9]', '', digits)} {what}" for digits, what in found]


def paragraphs(text: str) -> list[str]:
    """Those that speak of the page."""
    return [part for part in text.split("\n\n") if "trust.md" in part]


def disagreements(readme: str, trust: str) -> list[str]:
    """What README says that the page does not."""
    sums = total(runs_of(trust)) if trust else {}
    known = {f"{sums[name]} {name}" for name in ("problems", "certificates", "wrong") if sums}
    return [said for part in paragraphs(readme) for said in figures(part) if said not in known]


def test_readme_agrees_with_the_page() -> None:
    trust = PAGE.read_text() if PAGE.exists() else ""
    assert disagreements(README.read_text(), trust) == []


def test_a_figure_of_its_own_in_readme_is_found(tmp_path: Path) -> None:
    trust = page(
        added([], sum_up(written(tmp_path / "a", 7, [record(k, []) for k in range(1200)])))
    )
    said = f"{number(1200)} problems, 1,200 certificates, 0 wrong: [trust](docs/trust.md)."
    assert len(figures(said)) == 3
    assert disagreements(said, trust) == []
    assert disagreements(said.replace("0 wrong", "1 wrong"), trust) == ["1 wrong"]
    assert disagreements(said, "") != []
    assert disagreements("Solves 3 problems.\n\nNothing here.", "") == []
