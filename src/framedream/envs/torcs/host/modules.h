// SPDX-License-Identifier: GPL-2.0-or-later
// What TORCS asks of the operating system: a clock, and its modules loaded and unloaded.
#pragma once

#include "torcs_abi.h"

namespace modules {
torcs::System system(double (*clock)());
}
