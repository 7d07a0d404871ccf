// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of the host: the window that TORCS believes to have, the race, and the words exchanged with the parent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// Ends the program with one sentence on stderr, which the parent shows to its user.
[[noreturn]] void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

namespace window {
// Call before TORCS opens its window. Each pixel is the mean of `samples` × `samples` rendered ones.
void set_size(int height, int width, int samples);
// Who draws, with versions.
std::string renderer();
// The last picture that was drawn, top row first, height × width × 3 bytes.
const std::uint8_t *read();
std::size_t bytes();
} // namespace window

namespace race {
constexpr int columns = 22;

// Everything up to a car on the grid. `library` and `data` are TORCS' folders, `local` is one of our own.
void load(const char *library, const char *data, const char *local, const char *car);
float track_length();
// A new episode, `place` metres behind the start line along the lap, and so many pictures drawn of it.
void start(std::uint32_t seed, float place, int pictures);
// `ticks` of 0.02 s with the wheel and the pedal like this, then one picture.
void drive(float steer, float accelerator, int ticks);
// What there is to know of the car, in the order of state.py.
void read_state(float state[columns]);
} // namespace race
