"""The options of the whole family as data: values, exclusions, spellings, files and words."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pytest
import yaml

from cheat_env import Rules, RulesError, Tables, consistency, env, variants
from cheat_env.__main__ import main
from cheat_env.explain import compare, explain
from cheat_env.records import Replay
from cheat_env.rules import OPTION_FIELDS, spelled
from cheat_env.values import VALUES

#: What a published file says beside its options.
ABOUT = {"base", "title", "summary", "sources"}


def refusal(variant: Any, options: dict[str, Any]) -> str:
    """Return the one line with which rules are refused."""
    with pytest.raises(RulesError) as error:
        Rules.load(variant, **options)
    line = str(error.value)
    assert line and "\n" not in line
    return line


# --- Values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("wrong", ["sometimes", "", True, 0, None, ["none"]], ids=repr)
def test_values_that_are_none_are_refused(name: str, wrong: Any) -> None:
    """The line names the option as files spell it, the value, and every value there is."""
    line = refusal("english", {name: wrong})
    assert line.startswith(f"{spelled(name)} {wrong!r}")
    assert all(value in line for value in VALUES[name])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deal": "some"}, ("deal 'some'", "all", "equal")),
        ({"deal": 0}, ("deal 0", "1")),
        ({"deal": 2.5}, ("deal 2.5",)),
        ({"deal": 18}, ("deal 18", "52 cards")),
        ({"deal": True}, ("deal True",)),
        ({"jokers": -1}, ("jokers -1", "0")),
        ({"jokers": 100}, ("152 cards", "127")),
        ({"safe_turns": -1}, ("safe_turns -1", "0")),
        ({"safe_turns": "one"}, ("safe_turns 'one'",)),
        ({"until": 2}, ("until 2", "losses")),
        ({"until": {"wins": 2}}, ("until {'wins': 2}", "losses")),
        ({"until": {"losses": 0}}, ("losses 0", "1")),
        ({"until": {"losses": 1, "wins": 1}}, ("until", "losses")),
    ],
    ids=str,
)
def test_numbers_that_make_no_sense_are_refused(
    options: dict[str, Any], words: tuple[str, ...]
) -> None:
    """Hands, jokers, safe turns and losses: the line names the option and what was given."""
    line = refusal("english", options)
    assert all(word in line for word in words)


# --- Exclusions -----------------------------------------------------------------------------------

#: For each pair of options that exclude each other: rules with both, and what the line says.
EXCLUSIONS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("english", {"end": "last_in"}, ("end last_in", "scoring winner", "last_in goes with last")),
    ("english", {"end": "two_left"}, ("end two_left", "scoring winner", "two_left goes with last")),
    ("chui_niu", {"end": "last_in"}, ("end last_in", "scoring cards_left")),
    ("english", {"scoring": "last"}, ("end first_out", "scoring last", "winner or most_cards")),
    ("russian", {"end": "two_left"}, ("players [2, 6]", "end two_left", "three or more")),
    ("idi", {"rank_after_challenge": "continue"}, ("rank fixed", "continue", "free, same or")),
    ("idi", {"rank_after_challenge": "restart"}, ("opening free", "restart", "name the opening")),
    ("idi", {"pass": "none"}, ("all_pass burn_pile", "pass none", "allowed or out_of_round")),
    ("bluff_bengal", {"all_pass": "nothing"}, ("all_pass nothing", "out_of_round", "burn_pile")),
    ("english", {"believe": "reveal"}, ("believe reveal", "challengers anyone", "choose next")),
    ("russian", {"last_play": "honest_only"}, ("honest_only", "end last_in", "first_out")),
    ("english", {"joker_spent": "removed"}, ("joker_spent removed", "jokers 0", "give jokers")),
    ("verish_left", {"deals": 2}, ("until losses", "deals 2", "deals 1")),
    ("english", {"until": {"losses": 2}}, ("until losses", "scoring winner", "last or most_cards")),
    ("chui_niu", {"dead_ranks": "banned"}, ("dead_ranks banned", "quads none")),
    ("berishi", {"rank": "free", "opening": "2"}, ("dead_ranks banned", "opening 2", "free")),
    ("berishi", {"rank": "adjacent"}, ("dead_ranks banned", "rank adjacent", "fixed or free")),
    ("berishi", {"rank_after_challenge": "same"}, ("dead_ranks banned", "challenge same")),
    ("berishi", {"jokers": 1}, ("dead_ranks banned", "jokers", "no rank to announce")),
    ("russian", {"copies": 1}, ("quads optional", "copies 1", "two or more")),
    (
        "verish_left",
        {"quads": "mandatory_redeal", "copies": 2, "deck": "A-K", "removed_cards": 0},
        ("mandatory_redeal", "2 players", "6.2 complete sets", "at most 5"),
    ),
]


@pytest.mark.parametrize(("variant", "options", "words"), EXCLUSIONS, ids=str)
def test_exclusions_are_told(variant: str, options: dict[str, Any], words: tuple[str, ...]) -> None:
    """Options that exclude each other are refused by their names, with what would do."""
    line = refusal(variant, options)
    assert all(word in line for word in words)


def test_every_exclusion_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reason that the rules have to refuse two options is met in the list above."""
    met, reasons = set(), set()

    def note(rules: Any) -> None:
        for number, (found, line) in enumerate(consistency._contradictions(rules)):
            reasons.add(number)
            if found:
                met.add(number)
                raise RulesError(line)

    monkeypatch.setattr("cheat_env.rules.refuse_contradictions", note)
    for variant, options, _ in EXCLUSIONS:
        refusal(variant, options)
    Rules.load("english", max_plays=7)  # finds none, and so goes through all
    assert met == reasons


# --- Spellings ------------------------------------------------------------------------------------


def test_house_rules_may_undo_what_a_base_has() -> None:
    """Two options that only go together are changed together."""
    rules = Rules.load({"base": "idi", "pass": "none", "all_pass": "nothing"})
    assert (rules.passing, rules.all_pass, rules.deal) == ("none", "nothing", 7)


def test_pass_and_passing_are_one_option() -> None:
    """Files say `pass`, Python says `passing`; both are the same wherever options are given."""
    spellings = ("pass", "passing")
    mappings = [Rules.load({"base": "english", name: "allowed"}) for name in spellings]
    keywords = [Rules.load("english", **{name: "allowed"}) for name in spellings]
    assert {rules.passing for rules in (*mappings, *keywords)} == {"allowed"}
    assert Rules.load("english").with_options({"pass": "allowed"}).passing == "allowed"
    assert Rules.load("english", passing="allowed").as_options()["pass"] == "allowed"
    assert "passing" not in Rules.load("english").as_options()
    start = {"hands": ["7 K", "4 9", "2"], "pile": [{"seat": 2, "cards": "3"}], "turn": 0}
    for name in spellings:
        document = {"rules": {name: "allowed"}, "players": 3, "start": start | {"rank": "7"}}
        assert Replay(document).move("0 passes") is None


def test_a_misspelt_option_is_told_as_files_spell_it() -> None:
    """The hint for an unknown option speaks the words of files."""
    assert "did you mean pass?" in refusal("english", {"passes": "allowed"})
    assert "did you mean last_play?" in refusal("english", {"last_plays": "immune"})


def test_a_mapping_is_a_game_everywhere() -> None:
    """Tables, environments and records take house rules as a mapping, as a file would write it."""
    text = "base: bluff_bengal\npass: allowed\njokers: 0\ndeal: 5\nuntil: null\n"
    house = yaml.safe_load(text)
    tables = Tables(house, 4, 3, seed=1)
    game = env(house, 4)
    game.reset(seed=1)
    replay = Replay({"variant": house, "players": 4, "seed": 1})
    for rules in (tables.rules, game.tables.rules, replay.rules):
        assert rules.name == "bluff_bengal (house rules)"
        assert (rules.passing, rules.jokers, rules.deal) == ("allowed", 0, 5)
    assert (tables.state["hand_size"][:, :4] == 5).all()
    assert np.array_equal(tables.state[0]["hand"], replay.table["hand"])
    assert np.array_equal(tables.state[0]["hand"], game.tables.state[0]["hand"])


# --- Files ----------------------------------------------------------------------------------------


def document(name: str) -> dict[str, Any]:
    """Return what the file of a published game says."""
    path = files("cheat_env") / "variants" / f"{name}.yaml"
    return dict(yaml.safe_load(path.read_text("utf-8")))


def test_there_are_twenty_one_games() -> None:
    """Three games of the rule book and eighteen others, each with words of its own."""
    assert len(variants()) == 21
    for attribute in ("title", "summary"):
        assert len({getattr(Rules.load(name), attribute) for name in variants()}) == 21


@pytest.mark.parametrize("name", variants())
def test_a_file_says_only_what_differs_from_its_base(name: str) -> None:
    """A published file has a title, a summary, its sources, and no option that its base has so."""
    said = document(name)
    assert said["title"] and said["summary"] and said["sources"]
    options = {key: value for key, value in said.items() if key not in ABOUT}
    assert set(options) <= {spelled(option.name) for option in OPTION_FIELDS}
    if "base" in said:
        assert said["base"] in ("english", "marquoir", "russian")
        base = Rules.load(said["base"]).as_options()
        assert [key for key, value in options.items() if base[key] == value] == []
    own = Rules.load(name).as_options()
    if isinstance(options.get("deck"), str):
        assert own["deck"] == options["deck"]
    same = {"decks", "deck"}
    assert all(own[key] == value for key, value in options.items() if key not in same)


# --- Words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", variants())
def test_compare_tells_what_a_game_changes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`rules --compare A B` has a line for each option that differs, and for no other."""
    base = document(name).get("base", "english")
    assert main(["rules", "--compare", base, name]) == 0
    printed = capsys.readouterr().out.splitlines()
    one, two = Rules.load(base).as_options(), Rules.load(name).as_options()
    differing = [option for option in one if one[option] != two[option]]
    lines = [line for line in printed if not line.startswith("    ")]
    if not differing:
        assert lines == [f"{base} and {name} are played by the same rules"]
    else:
        assert [line.partition(": ")[0] for line in lines] == differing
        assert all(" -> " in line for line in lines)


def test_compare_says_what_values_mean() -> None:
    """Below a difference stands what each of its values means for play."""
    lines = compare(Rules.load("russian"), Rules.load("bluff_honest")).splitlines()
    after = lines[lines.index("last_play: contestable -> honest_only") + 1]
    assert after.startswith("    bluff_honest: A group that empties a hand is turned up at once")


def test_compare_refuses_what_is_no_game(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown game in a comparison: exit 2 and one line."""
    assert main(["rules", "--compare", "russian", "poker"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and "poker" in err and err.count("\n") == 1


@pytest.mark.parametrize("name", [*VALUES, "deal", "safe_turns", "until", "jokers", "deals"])
def test_words_tell_values_apart(name: str) -> None:
    """Whatever value an option has, no other value is explained in the same words."""
    found: dict[str, Any] = {}
    for value in VALUES.get(name, OTHER_VALUES.get(name, ())):
        rules = _with(name, value)
        if rules is not None:
            words = explain(rules).split("Options:")[0]
            assert words not in found, f"{name}: {value} and {found[words]}"
            found[words] = value
    assert len(found) > 1


OTHER_VALUES: dict[str, tuple[Any, ...]] = {
    "deal": ("all", "equal", 5, 6),
    "safe_turns": (0, 1, 2),
    "until": (None, {"losses": 1}, {"losses": 2}),
    "jokers": (0, 1, 2),
    "deals": (1, 2, 3),
}


def _with(name: str, value: Any) -> Rules | None:
    """Return the first published game that goes with a value of an option."""
    options = {"rank_after_challenge": {"opening": "2"}}.get(name, {})
    options |= {"until": {"deals": 1}}.get(name, {})
    for base in {"until": ("marquoir",), "jokers": ("english",)}.get(name, BASES):
        try:
            return Rules.load(base, **options, **{name: value})
        except RulesError:
            continue
    return None


BASES = ("bluff_bengal", "veryu", "berishi", "dubito_two_left", "idi", "chui_niu", "english")


def test_an_option_under_both_spellings_is_refused() -> None:
    """Neither of two values may win in silence."""
    with pytest.raises(RulesError, match="pass: given twice"):
        Rules.load("mogeln", **{"pass": "allowed", "passing": "none"})
