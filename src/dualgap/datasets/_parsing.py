"""The svmlight text format, ``target [qid:number] index:value ... [# comment]``, line by line."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap.compiled.jit import scalar
from dualgap.datasets._decimals import UNDECIDED, Words, nearest

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Indices = np.ndarray[Any, Any]  # int32 or int64

# What `parse` stopped at.
END, WIDE, FULL, BAD_TARGET, BAD_INDEX, BAD_VALUE, NOT_ASCENDING, TOO_LARGE = range(8)

# The places of its state.
POSITION, LINE, ROWS, ENTRIES, SMALLEST, LARGEST, POSTPONED = range(7)
STATE_SIZE = 7


class Room(NamedTuple):
    """The arrays that a file fills, with room for what the text can hold."""

    targets: Floats
    row_ends: Integers
    """How many entries there are up to the end of each row."""
    indices: Indices
    values: Floats
    postponed: Integers
    """(slot, start, end, line) of numbers that `nearest` cannot decide: -1 - i for target i."""


SPACE, TAB, RETURN, NEWLINE, HASH, COLON = 32, 9, 13, 10, 35, 58
PLUS, MINUS, POINT, ZERO, NINE = 43, 45, 46, 48, 57
DIGITS = 19
"""Digits that fit into 64 bits."""
LARGE_EXPONENT = 100000


@scalar
def is_blank(c: int) -> bool:
    """Whether c stands between tokens."""
    return c == SPACE or c == TAB or c == RETURN


@scalar
def ends_token(c: int) -> bool:
    """Whether a token ends before c."""
    return c == NEWLINE or c == HASH or c == SPACE or c == TAB or c == RETURN


@scalar
def number(text: Bytes, at: int, powers: Words) -> tuple[int, float, bool]:
    """Read ``[+-]digits[.digits][e[+-]digits]``: where it ends, its value, whether it is decided.

    It ends where it began if there is no such number before the next blank.
    """
    start = at
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    w, q, kept, seen = np.uint64(0), 0, 0, 0
    point = False
    while True:
        c = text[at]
        if ZERO <= c <= NINE:
            seen += 1
            if kept < DIGITS:
                w = w * np.uint64(10) + np.uint64(c - ZERO)
                if w != np.uint64(0):  # leading zeros are not kept
                    kept += 1
                if point:
                    q -= 1
            else:
                kept += 1  # digits that do not fit: left to float()
        elif c == POINT and not point:
            point = True
        else:
            break
        at += 1
    if seen == 0:
        return start, 0.0, True
    if text[at] == 101 or text[at] == 69:  # e, E
        at += 1
        falling = text[at] == MINUS
        if falling or text[at] == PLUS:
            at += 1
        first, exponent = at, 0
        while ZERO <= text[at] <= NINE:
            if exponent < LARGE_EXPONENT:
                exponent = 10 * exponent + (text[at] - ZERO)
            at += 1
        if at == first:
            return start, 0.0, True
        q += -exponent if falling else exponent
    if not ends_token(text[at]):
        return start, 0.0, True
    value = UNDECIDED if kept > DIGITS else nearest(w, q, powers)
    if value == UNDECIDED:
        return at, 0.0, False
    return at, -value if negative else value, True


@scalar
def skip_blanks(text: Bytes, at: int) -> int:
    """The first place from ``at`` on that is not blank."""
    while is_blank(text[at]):
        at += 1
    return at


@scalar
def starts_query(text: Bytes, at: int) -> bool:
    """Whether "qid:" stands here: the query that a row belongs to, which is no feature."""
    letters = text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100
    return bool(letters and text[at + 3] == COLON)


@scalar
def postpone(postponed: Integers, late: int, slot: int, start: int, end: int, line: int) -> int:
    """List a number for ``float()``."""
    postponed[late, 0], postponed[late, 1] = slot, start
    postponed[late, 2], postponed[late, 3] = end, line
    return late + 1


@scalar
def parse_row(
    text: Bytes, at: int, powers: Words, limit: int, room: Room, state: Integers
) -> tuple[int, int]:
    """Read the row that starts at ``at``: a code, and where it or the offending token ends.

    The state counts the row only once it is complete.
    """
    indices, postponed = room.indices, room.postponed
    row, entries, late = state[ROWS], state[ENTRIES], state[POSTPONED]
    widest = (1 << 31) - 1 if indices.itemsize == 4 else limit
    token = at
    at, value, decided = number(text, at, powers)
    if at == token:
        return BAD_TARGET, token
    room.targets[row] = value
    if not decided:
        if late == len(postponed):
            return FULL, token
        late = postpone(postponed, late, -1 - row, token, at, state[LINE])
    at = skip_blanks(text, at)
    if starts_query(text, at):
        token = at
        at, value, decided = number(text, at + 4, powers)
        if at == token + 4:
            return BAD_VALUE, token
    first, previous = np.int64(-1), np.int64(-1)
    while True:
        at = skip_blanks(text, at)
        if text[at] == NEWLINE or text[at] == HASH:
            break
        token = at
        index = np.int64(0)
        while ZERO <= text[at] <= NINE and at - token < 18:
            index = 10 * index + (text[at] - ZERO)
            at += 1
        if at == token or text[at] != COLON:
            return BAD_INDEX, token
        if index > limit:
            return TOO_LARGE, token
        if index <= previous:
            return NOT_ASCENDING, token
        if index > widest:
            return WIDE, token
        start = at + 1
        at, value, decided = number(text, start, powers)
        if at == start:
            return BAD_VALUE, token
        if not decided:
            if late == len(postponed):
                return FULL, token
            late = postpone(postponed, late, entries, start, at, state[LINE])
        if previous < 0:
            first = index
        previous = index
        indices[entries] = index
        room.values[entries] = value
        entries += 1
    if first >= 0:
        state[SMALLEST] = min(state[SMALLEST], first)
        state[LARGEST] = max(state[LARGEST], previous)
    room.row_ends[row] = entries
    state[ROWS], state[ENTRIES], state[POSTPONED] = row + 1, entries, late
    return END, at


@scalar
def parse(text: Bytes, end: int, powers: Words, limit: int, room: Room, state: Integers) -> int:
    """Read whole lines from text[state[POSITION]:end], which ends with a newline.

    The text must have three bytes more than it uses. An index may be at most ``limit``. When the
    list of postponed numbers is full, or an index does not fit the type of the room for indices,
    parse stops before the line, to be called again. At an error POSITION is where the offending
    token starts, and LINE its line.
    """
    at = state[POSITION]
    while at < end:
        began = at
        at = skip_blanks(text, at)
        if text[at] != NEWLINE and text[at] != HASH:
            code, at = parse_row(text, at, powers, limit, room, state)
            if code != END:
                state[POSITION] = began if code == FULL or code == WIDE else at
                return code
        while text[at] != NEWLINE:  # what is left is a comment
            at += 1
        at += 1
        state[LINE] += 1
    state[POSITION] = at
    return END
