// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver.h"

#include <algorithm>
#include <cstring>

#include "torcs_abi.h"

using torcs::field;

namespace {

// Of the engine's red line: above the first the next gear, below the second (in the lower gear) the lower one.
constexpr float shift_up = 0.9f, shift_down = 0.7f;
// Metres per second by which the wheels may be faster than the car, and over which the pedal is then let go.
constexpr float slip_allowed = 2, slip_range = 10;
constexpr int first_rear_wheel = 2, wheels = 4;

float steer_wanted, accelerator_wanted;
void *driven_car;
torcs::Robot *interface_given;

float radius(void *car, int wheel) {
    return field<float>(car, torcs::car::wheel_radius + wheel * torcs::car::wheel_radius_stride);
}

float wheel_speed(void *car, int wheel) {
    return radius(car, wheel) * field<float>(car, torcs::car::wheel_spin + wheel * torcs::car::wheel_stride);
}

int gear_for(void *car) {
    const int gear = field<int>(car, torcs::car::gear), offset = field<int>(car, torcs::car::gear_offset);
    if (gear < 1)
        return 1;
    const int highest = field<int>(car, torcs::car::gears) - 1 - offset;
    const float red_line = field<float>(car, torcs::car::engine_red_line);
    const float spin = field<float>(car, torcs::car::speed_forward) / radius(car, first_rear_wheel);
    auto engine_speed_in = [&](int which) {
        return spin * field<float>(car, torcs::car::gear_ratios + (which + offset) * sizeof(float));
    };
    if (gear < highest && engine_speed_in(gear) > shift_up * red_line)
        return gear + 1;
    if (gear > 1 && engine_speed_in(gear - 1) < shift_down * red_line)
        return gear - 1;
    return gear;
}

float pedal_for(void *car) {
    float fastest = 0;
    for (int axle = 0; axle < wheels; axle += 2)
        fastest = std::max(fastest, (wheel_speed(car, axle) + wheel_speed(car, axle + 1)) / 2);
    const float slip = fastest - field<float>(car, torcs::car::speed_forward);
    return accelerator_wanted * std::clamp(1 - (slip - slip_allowed) / slip_range, 0.0f, 1.0f);
}

void drive(int, void *car, void *) {
    std::memset(&field<char>(car, torcs::car::controls), 0, torcs::car::controls_size);
    field<float>(car, torcs::car::steer) = steer_wanted;
    field<float>(car, torcs::car::accelerator) = pedal_for(car);
    field<int>(car, torcs::car::gear_wanted) = gear_for(car);
}

} // namespace

namespace driver {

void set(float steer, float accelerator) { steer_wanted = steer, accelerator_wanted = accelerator; }

void *car() { return driven_car; }

const void *robot() { return interface_given; }

int initialise(int index, void *interface) {
    interface_given = static_cast<torcs::Robot *>(interface);
    interface_given->new_track = [](int, void *, void *, void **settings, void *) { *settings = nullptr; };
    interface_given->new_race = [](int, void *car, void *) { driven_car = car; };
    interface_given->end_race = [](int, void *, void *) {};
    interface_given->drive = drive;
    interface_given->pit = [](int, void *, void *) { return 0; }; // at once, without a menu
    interface_given->shutdown = [](int) { driven_car = nullptr; };
    interface_given->index = index;
    return 0;
}

} // namespace driver
