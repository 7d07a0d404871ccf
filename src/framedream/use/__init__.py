"""Using a simulator: as an environment, as a game, to explore with. Knows nothing of training.

Importing this package registers `framedream/Simulated-v0` with Gymnasium; torch is imported when one is made.
"""

import gymnasium

gymnasium.register(
    id="framedream/Simulated-v0",
    entry_point="framedream.use.simulated_env:SimulatedEnv",
    vector_entry_point="framedream.use.simulated_vector:SimulatedVectorEnv",
)
