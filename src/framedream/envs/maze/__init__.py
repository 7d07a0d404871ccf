"""The built-in 3D mazes: layouts, textures and paintings drawn from seeds, a ray caster, and momentum."""
