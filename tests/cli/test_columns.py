"""Columns are known by name: predict and certify put them in order, or refuse."""

import gzip
import json

import numpy as np
import pytest

from dualgap.cli.model import load_model
from dualgap.datasets import DataError, load, load_csv

from .runner import BAD_INPUT, CONVERGED, run

NAMES = ["height", "weight", "age", "grade"]
RNG = np.random.default_rng(0)
FEATURES = RNG.standard_normal((30, 3))
TARGETS = FEATURES @ [1.0, -20.0, 300.0] + 5.0


def write(path, columns, header=None):
    rows = [",".join(map(repr, row)) for row in np.column_stack(columns).tolist()]
    path.write_text("\n".join([*([",".join(header)] if header else []), *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("columns")


@pytest.fixture(scope="module")
def table(folder):
    return write(folder / "table.csv", [*FEATURES.T, TARGETS], NAMES)


@pytest.fixture(scope="module")
def plain(folder):
    """The same without a header."""
    return write(folder / "plain.csv", [*FEATURES.T, TARGETS])


def fitted(file, *options):
    out = file.with_suffix(".json")
    done = run("fit", file, "--l2", 1e-6, "--fit-intercept", *options, "--out", out)
    assert done.exit_code == CONVERGED, done.output
    return out


@pytest.fixture(scope="module")
def model(table):
    return fitted(table)


@pytest.fixture(scope="module")
def nameless(plain):
    return fitted(plain)


def numbers(done):
    assert done.exit_code == CONVERGED, done.output
    return np.array([float(line) for line in done.stdout.split()])


def refused(*arguments):
    done = run(*arguments)
    assert done.exit_code == BAD_INPUT, done.output
    assert done.stdout == "" and done.stderr.count("\n") == 1
    return done.stderr


def test_the_model_keeps_the_names(model, nameless):
    content = json.loads(model.read_text())
    assert content["feature_names"] == NAMES[:3]
    assert (content["target_name"], content["target_column"]) == ("grade", 3)
    content = json.loads(nameless.read_text())
    assert content["feature_names"] is None and content["target_name"] is None


@pytest.mark.parametrize("order", [[3, 2, 1, 0], [2, 0, 3, 1], [0, 1, 2, 3]])
def test_columns_in_another_order(folder, model, table, order):
    """The target is predicted where the columns are found: it is linear in them."""
    columns = [*FEATURES.T, TARGETS]
    other = write(folder / "other.csv", [columns[k] for k in order], [NAMES[k] for k in order])
    assert numbers(run("predict", model, other)) == pytest.approx(TARGETS, abs=1e-2)
    done = run("certify", model, other, "--json")
    assert done.exit_code == CONVERGED
    assert json.loads(done.stdout)["same_data"]
    assert done.stdout == run("certify", model, table, "--json").stdout


def test_a_table_without_the_target(folder, model, table):
    other = write(folder / "other.csv", FEATURES.T[[2, 0, 1]], ["age", "height", "weight"])
    expected = numbers(run("predict", model, table))
    assert np.array_equal(numbers(run("predict", model, other)), expected)
    assert "has no target, and a certificate needs one" in refused("certify", model, other)


def test_a_single_feature_without_the_target(folder):
    file = write(folder / "one.csv", [FEATURES[:, 0], FEATURES[:, 0]], ["a", "b"])
    model = fitted(file)
    other = write(folder / "alone.csv", [FEATURES[:, 0]], ["a"])
    assert numbers(run("predict", model, other)) == pytest.approx(FEATURES[:, 0], abs=1e-4)


@pytest.mark.parametrize("command", ["predict", "certify"])
@pytest.mark.parametrize(
    ("columns", "names", "message"),
    [
        ([0, 1, 3], ["height", "weight", "grade"], "has no column 'age', which the model needs"),
        ([0, 1, 2, 3], ["height", "weight", "years", "grade"], "has no column 'age'"),
        ([0, 1, 2, 3], ["height", "weight", "age", "note"], "has the column 'note', which the"),
        ([0, 1, 2, 3], None, "has no names of columns, and the model knows its own by name"),
        ([0, 1, 2, 3], ["height", "weight", "age", "age"], "two columns are called 'age'"),
    ],
    ids=["missing", "renamed", "unknown", "nameless", "twice"],
)
def test_columns_that_cannot_be_told(folder, model, command, columns, names, message):
    """The first has as many columns as the model has features: its target would be one."""
    data = [*FEATURES.T, TARGETS]
    other = write(folder / "other.csv", [data[k] for k in columns], names)
    assert message in refused(command, model, other)


def test_the_target_may_be_called_otherwise(folder, model):
    other = write(folder / "other.csv", [TARGETS, *FEATURES.T], ["result", *NAMES[:3]])
    assert "which the model does not know" in refused("certify", model, other)
    assert run("certify", model, other, "--target", "result").exit_code == CONVERGED
    assert "is a feature of the model" in refused("certify", model, other, "--target", "age")


def test_columns_by_their_place_if_asked_to(folder, model, plain):
    expected = numbers(run("predict", model, plain, "--by-position"))
    assert expected == pytest.approx(TARGETS, abs=1e-2)
    renamed = write(folder / "other.csv", [*FEATURES.T, TARGETS], ["a", "b", "c", "d"])
    assert np.array_equal(numbers(run("predict", model, renamed, "--by-position")), expected)
    # The target is known by its name even then; it is no feature.
    other = write(folder / "other.csv", [TARGETS, *FEATURES.T], ["grade", "a", "b", "c"])
    assert np.array_equal(numbers(run("predict", model, other, "--by-position")), expected)
    other = write(folder / "other.csv", [TARGETS, *FEATURES.T[:2]], ["grade", "a", "b"])
    message = refused("predict", model, other, "--by-position")
    assert "has 2 columns of data; the model takes 3" in message


@pytest.mark.parametrize("ending", ["svm", "npz"])
def test_files_without_names(folder, model, ending):
    path = folder / f"other.{ending}"
    if ending == "npz":
        np.savez(path, A=FEATURES, b=TARGETS)
    else:
        lines = [
            f"{t!r} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row))
            for t, row in zip(TARGETS.tolist(), FEATURES.tolist(), strict=True)
        ]
        path.write_text("\n".join(lines))
    assert "or say --by-position" in refused("predict", model, path)
    assert numbers(run("predict", model, path, "--by-position")) == pytest.approx(TARGETS, abs=1e-2)
    assert run("certify", model, path, "--by-position").exit_code == CONVERGED


# ---- models and tables without names ----


def test_the_target_stays_where_it_was(folder):
    """A model fitted with the first column as target reads the next table in the same way."""
    file = write(folder / "first.csv", [TARGETS, *FEATURES.T])
    model = fitted(file, "--target", 0)
    assert json.loads(model.read_text())["target_column"] == 0
    assert numbers(run("predict", model, file)) == pytest.approx(TARGETS, abs=1e-2)
    assert run("certify", model, file).exit_code == CONVERGED


def test_a_nameless_table_without_a_target_is_said_to_have_none(folder, nameless, plain):
    other = write(folder / "other.csv", FEATURES.T)
    done = run("predict", nameless, other)
    assert np.array_equal(numbers(done), numbers(run("predict", nameless, plain)))
    assert "has 3 columns, as many as the model has features" in done.stderr
    assert "taken to have no target" in done.stderr
    assert run("predict", nameless, plain).stderr == ""
    assert "has 2 columns of data" in refused("predict", nameless, other, "--target", 0)


def test_names_that_the_model_does_not_have(nameless, table):
    done = run("predict", nameless, table)
    assert numbers(done) == pytest.approx(TARGETS, abs=1e-2)
    assert "the model has no names of columns" in done.stderr


def test_models_of_the_first_version_have_no_names(folder, model, plain):
    content = json.loads(model.read_text())
    for key in ("feature_names", "target_name", "target_column"):
        del content[key]
    old = folder / "old.json"
    old.write_text(json.dumps({**content, "format_version": 1}))
    assert load_model(old).feature_names is None
    assert numbers(run("predict", old, plain)) == pytest.approx(TARGETS, abs=1e-2)
    old.write_text(json.dumps(content))  # but the second version must have them
    assert "'target_name' is missing" in refused("predict", old, plain)


def test_names_of_arff_columns(folder):
    rows = "\n".join(",".join(map(repr, row)) for row in FEATURES.tolist())
    head = "@relation r\n% note\n@attribute 'a b' numeric\n@ATTRIBUTE c real\n@attribute d real\n"
    path = folder / "x.arff"
    path.write_text(f"{head}@data\n{rows}\n")
    data = load(path)
    assert data.feature_names == ["a b", "c"] and data.target_name == "d"
    assert np.array_equal(np.column_stack((data.A, data.b)), FEATURES)


# ---- headers ----


@pytest.mark.parametrize("line", ["0,1,2,3", '"0","1","2","3"', "0;1;2;3", "0,1", "0, 1, 2"])
def test_a_line_that_may_be_a_header_or_data(folder, line):
    """Column numbers written for want of names: either guess would lose or invent a row."""
    path = folder / "numbered.csv"
    delimiter = ";" if ";" in line else ","
    width = line.count(delimiter) + 1
    row = delimiter.join(["7.5"] * width)
    path.write_text(f"{line}\n{row}\n{row}\n")
    with pytest.raises(DataError, match=r"line 1: .* may be .* header=True or header=False"):
        load_csv(path)
    data = load(path, header=True)
    assert data.A.tolist() == [[7.5] * (width - 1)] * 2
    assert data.feature_names == [str(k) for k in range(width - 1)]
    assert load(path, header=False).b.tolist() == [width - 1, 7.5, 7.5]
    assert "--header or --no-header" in refused("fit", path, "--l2", 1)
    for option, rows in (("--header", 2), ("--no-header", 3)):
        assert f"{rows} rows" in run("fit", path, "--l2", 1, option).stdout


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b,c\n1,2,3\n", ["a", "b"]),
        ("0,1,y\n1,2,3\n", ["0", "1"]),
        (",x,y\n1,2,3\n", ["", "x"]),
        ('"a, b",x,y\n1,2,3\n', ["a, b", "x"]),
        ("1,2,3\n", None),
        ("1,2,3\n0,1,2\n", None),
    ],
)
def test_which_lines_are_headers(folder, text, names):
    path = folder / "x.csv"
    path.write_text(text)
    data = load(path)
    assert data.feature_names == names
    assert data.A[0].tolist() == [1, 2] and data.b[0] == 3


def test_a_header_is_what_it_is_said_to_be(folder):
    path = folder / "x.csv"
    path.write_text("1990,2000,2010\n1,2,3\n")
    assert load(path, header=True).feature_names == ["1990", "2000"]
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="line 1: column 1: 'a' is not a number"):
        load(path, header=False)
    with pytest.raises(TypeError, match="header must be True or False, got 'yes'"):
        load(path, header="yes")
    path.write_text("1,,3\n4,5,6\n")  # a row with a gap is no header
    with pytest.raises(DataError, match="line 1: column 2: an empty cell"):
        load(path)


@pytest.mark.parametrize("name", ["x.svm", "x.npz", "a9a"])
def test_a_header_is_for_tables(folder, name):
    path = folder / name
    path.write_text("1 1:1\n")
    with pytest.raises(DataError, match="header is for"):
        load("a9a" if name == "a9a" else path, header=True)


def test_limits_are_options_of_the_commands(folder, model, table):
    path = folder / "packed.csv.gz"
    path.write_bytes(gzip.compress(table.read_bytes()))
    for command in (("fit", path), ("predict", model, path), ("certify", model, path)):
        assert "--max-bytes" in refused(*command, "--max-bytes", 100)
        assert run(*command, "--max-bytes", 10**6).exit_code == CONVERGED
