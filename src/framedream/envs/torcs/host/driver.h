// SPDX-License-Identifier: GPL-2.0-or-later
// The driver in the car: steers and accelerates as told, shifts gears and avoids spinning wheels by itself.
#pragma once

namespace driver {
constexpr char name[] = "framedream";
constexpr int index = 1; // TORCS takes 0 for "no driver"

void set(float steer, float accelerator);
void *car();         // null outside a race
const void *robot(); // what TORCS was given to call us by
int initialise(int index, void *interface);
} // namespace driver
