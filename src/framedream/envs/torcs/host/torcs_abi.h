// SPDX-License-Identifier: GPL-2.0-or-later
// What the host touches of TORCS 1.3.7 on amd64: functions, and fields by their offset inside TORCS' structures.
// TORCS' own headers are not installed by any package; check_abi.sh compares this file with them where they are.
#pragma once

#include <cstddef>

namespace torcs {

// A field of a structure of which nothing but an address and an offset is known.
template <typename Value> Value &field(void *structure, std::size_t offset) {
    return *reinterpret_cast<Value *>(static_cast<char *>(structure) + offset);
}

namespace race { // tRmInfo, behind the global ReInfo
constexpr std::size_t situation = 8, track = 16, parameters = 24, state = 56, file_name = 256, name = 264;
constexpr std::size_t race_name = 272, clock = 288, last_drive = 296;
constexpr int pre_race = 3; // a value of `state`
constexpr long event_start = 1;
} // namespace race

namespace situation { // tSituation
constexpr std::size_t state = 8, time = 40;
constexpr int before_start = 0x10; // a value of `state`
} // namespace situation

namespace track { // tTrack
constexpr std::size_t parameters = 24, length = 56;
} // namespace track

namespace segment { // tTrackSeg
constexpr std::size_t type = 12, place = 16, length = 24, width = 28, begin = 40, radius = 44;
constexpr std::size_t start_angle = 120, next = 232;
constexpr int right_bend = 1, left_bend = 2; // values of `type`; 3 is a straight
constexpr int road = 1;                      // a value of `place`
} // namespace segment

namespace car { // tCarElt
constexpr std::size_t model = 68;
constexpr std::size_t wheel_radius = 232, wheel_radius_stride = 20;
constexpr std::size_t x = 328, y = 332, z = 336, yaw = 348, speed_forward = 352, speed_sideways = 356, yaw_rate = 372;
constexpr std::size_t segment = 544, to_segment_start = 556, to_middle = 564, state = 576;
constexpr std::size_t laps = 736;
constexpr std::size_t module = 860;
constexpr std::size_t wheel_spin = 920, wheel_segment = 936, wheel_stride = 88;
constexpr std::size_t gear = 1344, engine_speed = 1352, engine_red_line = 1356;
constexpr std::size_t gear_ratios = 1380, gears = 1420, gear_offset = 1424, damage = 1496;
constexpr std::size_t controls = 1536, controls_size = 172;
constexpr std::size_t steer = 1536, accelerator = 1540, gear_wanted = 1552;
constexpr std::size_t robot = 2656;
} // namespace car

using RobotNewTrack = void (*)(int index, void *track, void *car_parameters, void **settings, void *situation);
using RobotCall = void (*)(int index, void *car, void *situation);
using RobotPit = int (*)(int index, void *car, void *situation);
using RobotShutdown = void (*)(int index);

// What a driver fills in: tRobotItf.
struct Robot {
    RobotNewTrack new_track;
    RobotCall new_race, end_race, drive;
    RobotPit pit;
    RobotShutdown shutdown;
    int index;
};

// What a loadable module says of itself: tModInfo.
struct ModuleInfo {
    char *name, *description;
    int (*initialise)(int index, void *interface);
    unsigned kind;
    int index, priority, magic;
};
constexpr int interfaces_per_module = 10;

// A loaded module, in a ring to whose last element TORCS points: tModList.
struct Module {
    ModuleInfo info[interfaces_per_module];
    void *handle;
    char *path;
    Module *next;
};

// What TORCS asks of the system: tGfOs.
struct System {
    int (*load_module)(unsigned kind, char *path, Module **modules);
    int (*load_folder)(unsigned kind, char *folder, Module **modules);
    int (*unload_modules)(Module **modules);
    int (*module_info)(unsigned kind, char *path, Module **modules);
    int (*folder_info)(unsigned kind, char *folder, int level, Module **modules);
    int (*free_info)(Module **modules);
    void *(*list_folder)(const char *folder);
    void *(*list_folder_filtered)(const char *folder, const char *suffix);
    double (*clock)();
};

constexpr double physics_seconds = 0.002, tick_seconds = 0.02;
constexpr int physics_steps_per_tick = 10;
constexpr int read_standard = 1; // GfParmReadFile: share a file that is read already

} // namespace torcs

extern void *ReInfo;
extern torcs::System GfOs;

void SetLocalDir(char *);
void SetLibDir(char *);
void SetDataDir(char *);
void *GfParmReadFile(const char *, int);
int GfParmSetNum(void *, const char *, const char *, const char *, float);
void GfScrInit(int, char **);
void GfInitClient();
void ssgInit();
void ReInit();
void ReInitResults();
void ReStateApply(void *);
void ReStateManage();
int ReUpdate();
void ReRaceCleanup();
