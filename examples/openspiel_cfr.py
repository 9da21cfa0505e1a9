"""Solve a small game of Cheat with OpenSpiel's CFR+, and print how its exploitability falls.

    pip install "cheat-env[openspiel]"
    python examples/openspiel_cfr.py

Two seats, one card each of A, 2 and 3, one card a play: most of what is said must be a lie.
"""

from __future__ import annotations

import argparse

import pyspiel

import cheat_env.open_spiel  # noqa: F401  (registers python_cheat)

GAME = "python_cheat(players=2,ranks=3,copies=1,most=1,max_plays=6,dealer=1)"


def main() -> None:
    """Run CFR+ and print the exploitability of its average policy, half of NashConv."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--iterations", type=int, default=30, help="of CFR+ (default 30)")
    iterations = parser.parse_args().iterations
    game = pyspiel.load_game(GAME)
    print(game)
    uniform = pyspiel.UniformRandomPolicy(game)
    print(f"uniform: exploitability {pyspiel.exploitability(game, uniform):.4f}")
    solver = pyspiel.CFRPlusSolver(game)
    for iteration in range(1, iterations + 1):
        solver.evaluate_and_update_policy()
        if iteration % 10 == 0 or iteration == iterations:
            found = pyspiel.exploitability(game, solver.average_policy())
            print(f"CFR+ {iteration:3d}: exploitability {found:.4f}", flush=True)

    state = game.new_initial_state()
    for action in (1, 0, 1, 1, 1, 0, 0):  # seat 1 deals; seat 0 gets 2 and 3, seat 1 the ace
        state.apply_action(action)
    told = state.information_state_string()
    print(f"\n{told}\nThe leader must claim an ace, and plays:")
    for action, share in solver.average_policy().get_state_policy(state):
        print(f"  {state.action_to_string(state.current_player(), action)}: {share:.2f}")


if __name__ == "__main__":
    main()
