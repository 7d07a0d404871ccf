// SPDX-License-Identifier: GPL-2.0-or-later
// One car on a track, driven from outside: TORCS' race engine under a clock that only we advance.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include <unistd.h>

#include "driver.h"
#include "host.h"
#include "modules.h"
#include "torcs_abi.h"

using torcs::field;

// Loading screens and menu music are never met with; TORCS' own would load pictures and sounds for them.
void RmLoadingScreenStart(const char *, const char *) {}
void RmLoadingScreenSetText(const char *) {}
void RmShutdownLoadingScreen() {}
void startMenuMusic() {}
void stopMenuMusic() {}

namespace {

constexpr double start_of_time = 1000;
double now = start_of_time;
double raced, last_place; // metres along the road; TORCS counts them only after the first step, and from the line

void *situation() { return field<void *>(ReInfo, torcs::race::situation); }
void *track() { return field<void *>(ReInfo, torcs::race::track); }

float wrapped(float angle) { return std::remainder(angle, 2 * float(M_PI)); }

// 1 / metres, positive in bends to the left.
float curvature(void *segment) {
    const int type = field<int>(segment, torcs::segment::type);
    if (type != torcs::segment::left_bend && type != torcs::segment::right_bend)
        return 0;
    const float bend = 1 / field<float>(segment, torcs::segment::radius);
    return type == torcs::segment::left_bend ? bend : -bend;
}

// Where the car is on the road.
struct Place {
    void *segment;
    float along;    // metres from the segment's beginning
    float to_start; // what TORCS has for it: metres on straights, an angle in bends
};

Place place_of(void *car) {
    void *segment = field<void *>(car, torcs::car::segment);
    const float to_start = field<float>(car, torcs::car::to_segment_start);
    const bool bend = curvature(segment) != 0;
    return {segment, bend ? to_start * field<float>(segment, torcs::segment::radius) : to_start, to_start};
}

float lap_distance(const Place &place) { return field<float>(place.segment, torcs::segment::begin) + place.along; }

// Where the road points there.
float direction(const Place &place) {
    const float begin = field<float>(place.segment, torcs::segment::start_angle), bend = curvature(place.segment);
    return bend == 0 ? begin : begin + std::copysign(place.to_start, bend);
}

// The sharpest bend among the segments that begin within so many metres.
float sharpest_bend(const Place &place, float within) {
    void *segment = place.segment;
    float sharpest = curvature(segment);
    float begin = field<float>(segment, torcs::segment::length) - place.along;
    while (begin < within) {
        segment = field<void *>(segment, torcs::segment::next);
        if (std::fabs(curvature(segment)) > std::fabs(sharpest))
            sharpest = curvature(segment);
        begin += std::max(field<float>(segment, torcs::segment::length), 0.1f);
    }
    return sharpest;
}

// Any number of physics steps, then one picture.
void advance(int steps) {
    // The half keeps rounding away from the comparison by which TORCS decides whether another step is due.
    now = field<double>(ReInfo, torcs::race::clock) + (steps + 0.5) * torcs::physics_seconds;
    ReUpdate();
}

// The second of standing still is simulated already; what is left out is the countdown of two more.
void begin_race() {
    field<int>(ReInfo, torcs::race::state) = torcs::race::pre_race;
    ReStateManage();
    field<double>(situation(), torcs::situation::time) = -torcs::physics_seconds;
    field<int>(situation(), torcs::situation::state) = torcs::situation::before_start;
    field<double>(ReInfo, torcs::race::last_drive) = -torcs::tick_seconds;
    field<double>(ReInfo, torcs::race::clock) = now;
}

// Values that only the right layout gives. Anything else would be read and written at random.
void check_layout(const char *model) {
    void *car = driver::car();
    if (!car)
        give_up("TORCS did not start a race");
    void *segment = field<void *>(car, torcs::car::segment);
    const float length = race::track_length();
    const bool right = field<void *>(car, torcs::car::robot) == driver::robot() &&
                       std::strcmp(&field<char>(car, torcs::car::model), model) == 0 &&
                       std::strcmp(&field<char>(car, torcs::car::module), driver::name) == 0 && length > 100 &&
                       length < 100000 && segment && field<float>(segment, torcs::segment::width) > 1 &&
                       field<float>(car, torcs::car::wheel_radius) > 0.1f;
    if (!right)
        give_up("this is not the TORCS 1.3.7 that the host was written for");
}

} // namespace

namespace race {

void load(const char *library, const char *data, const char *local, const char *model) {
    SetLocalDir(const_cast<char *>(local));
    SetLibDir(const_cast<char *>(library));
    SetDataDir(const_cast<char *>(data));
    if (chdir(data))
        give_up("TORCS' data folder %s cannot be entered", data);
    GfOs = modules::system([] { return now; });
    int arguments = 1;
    char program[] = "torcs", *words[] = {program, nullptr};
    GfScrInit(arguments, words);
    ssgInit();
    GfInitClient();
    ReInit();
    const std::string settings = std::string(local) + "race.xml";
    void *parameters = GfParmReadFile(settings.c_str(), torcs::read_standard);
    if (!parameters)
        give_up("%s cannot be read", settings.c_str());
    field<void *>(ReInfo, torcs::race::parameters) = parameters;
    field<char *>(ReInfo, torcs::race::file_name) = strdup(driver::name);
    field<const char *>(ReInfo, torcs::race::name) = driver::name;
    ReInitResults();
    ReStateApply(reinterpret_cast<void *>(torcs::race::event_start));
    check_layout(model);
}

float track_length() { return field<float>(track(), torcs::track::length); }

void start(std::uint32_t seed, float place, int pictures) {
    const float length = track_length();
    float before_line = std::fmod(length - place, length);
    if (before_line < 0)
        before_line += length;
    // TORCS searches for ever for a place beyond the lap. Some tracks have a grid of their own, which would win.
    void *parameters = field<void *>(track(), torcs::track::parameters);
    const char *grid = "Starting Grid";
    GfParmSetNum(parameters, grid, "rows", nullptr, 1);
    GfParmSetNum(parameters, grid, "distance to start", nullptr, std::min(before_line, length - 1));
    GfParmSetNum(parameters, grid, "distance between columns", nullptr, 0);
    GfParmSetNum(parameters, grid, "offset within a column", nullptr, 0);
    GfParmSetNum(parameters, grid, "initial height", nullptr, 0.2f);
    ReRaceCleanup();
    std::srand(seed);
    now = start_of_time;
    driver::set(0, 0);
    begin_race();
    for (int picture = 0; picture < pictures; picture++)
        advance(0);
    raced = 0, last_place = lap_distance(place_of(driver::car()));
}

void drive(float steer, float accelerator, int ticks) {
    driver::set(steer, accelerator);
    // TORCS asks the driver when a tick has gone by since it last did; so it does at the first of these steps.
    field<double>(ReInfo, torcs::race::last_drive) =
        field<double>(situation(), torcs::situation::time) - torcs::tick_seconds;
    advance(ticks * torcs::physics_steps_per_tick);
    const double place = lap_distance(place_of(driver::car()));
    raced += std::remainder(place - last_place, double(track_length()));
    last_place = place;
}

void read_state(float state[columns]) {
    void *car = driver::car();
    const Place place = place_of(car);
    const float yaw = field<float>(car, torcs::car::yaw);
    int off = 0;
    for (int wheel = 0; wheel < 4; wheel++) {
        void *under = field<void *>(car, torcs::car::wheel_segment + wheel * torcs::car::wheel_stride);
        off += under && field<int>(under, torcs::segment::place) != torcs::segment::road;
    }
    const float values[columns] = {
        float(field<double>(situation(), torcs::situation::time)),
        field<float>(car, torcs::car::x),
        field<float>(car, torcs::car::y),
        field<float>(car, torcs::car::z),
        yaw,
        field<float>(car, torcs::car::speed_forward),
        field<float>(car, torcs::car::speed_sideways),
        field<float>(car, torcs::car::yaw_rate),
        field<float>(car, torcs::car::engine_speed) * 30 / float(M_PI),
        float(field<int>(car, torcs::car::gear)),
        float(field<int>(car, torcs::car::damage)),
        float(field<int>(car, torcs::car::state)),
        float(field<int>(car, torcs::car::laps)),
        lap_distance(place),
        float(raced),
        field<float>(car, torcs::car::to_middle),
        field<float>(place.segment, torcs::segment::width),
        wrapped(yaw - direction(place)),
        curvature(place.segment),
        sharpest_bend(place, 30),
        sharpest_bend(place, 60),
        float(off),
    };
    std::copy(values, values + columns, state);
}

} // namespace race
