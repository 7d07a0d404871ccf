// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles only if torcs_abi.h says the same as TORCS' own headers; see check_abi.sh.
#include <type_traits>

#include <car.h>
#include <os.h>
#include <raceman.h>
#include <robot.h>
#include <track.h>

// Both headers declare these, with types that differ in name only.
#define ReInfo ReInfoOfTheHost
#define GfOs GfOsOfTheHost
#include "torcs_abi.h"

#define SAME(ours, structure, member) static_assert(torcs::ours == offsetof(structure, member), #ours)
#define EQUAL(ours, theirs) static_assert(torcs::ours == theirs, #ours)

SAME(race::situation, tRmInfo, s);
SAME(race::track, tRmInfo, track);
SAME(race::parameters, tRmInfo, params);
SAME(race::state, tRmInfo, _reState);
SAME(race::file_name, tRmInfo, _reFilename);
SAME(race::name, tRmInfo, _reName);
SAME(race::race_name, tRmInfo, _reRaceName);
SAME(race::clock, tRmInfo, _reCurTime);
SAME(race::last_drive, tRmInfo, _reLastTime);
EQUAL(race::pre_race, RE_STATE_PRE_RACE);
EQUAL(race::event_start, RE_STATE_EVENT_INIT);

SAME(situation::state, tSituation, _raceState);
SAME(situation::time, tSituation, currentTime);
EQUAL(situation::before_start, RM_RACE_PRESTART);

SAME(track::parameters, tTrack, params);
SAME(track::length, tTrack, length);

SAME(segment::type, tTrackSeg, type);
SAME(segment::place, tTrackSeg, type2);
SAME(segment::length, tTrackSeg, length);
SAME(segment::width, tTrackSeg, width);
SAME(segment::begin, tTrackSeg, lgfromstart);
SAME(segment::radius, tTrackSeg, radius);
SAME(segment::start_angle, tTrackSeg, angle[TR_ZS]);
SAME(segment::next, tTrackSeg, next);
EQUAL(segment::right_bend, TR_RGT);
EQUAL(segment::left_bend, TR_LFT);
EQUAL(segment::road, TR_MAIN);

SAME(car::model, tCarElt, _carName);
SAME(car::wheel_radius, tCarElt, _wheelRadius(0));
EQUAL(car::wheel_radius_stride, sizeof(tWheelSpec));
SAME(car::x, tCarElt, _pos_X);
SAME(car::y, tCarElt, _pos_Y);
SAME(car::z, tCarElt, _pos_Z);
SAME(car::yaw, tCarElt, _yaw);
SAME(car::speed_forward, tCarElt, _speed_x);
SAME(car::speed_sideways, tCarElt, _speed_y);
SAME(car::yaw_rate, tCarElt, _yaw_rate);
SAME(car::segment, tCarElt, _trkPos.seg);
SAME(car::to_segment_start, tCarElt, _trkPos.toStart);
SAME(car::to_middle, tCarElt, _trkPos.toMiddle);
SAME(car::state, tCarElt, _state);
SAME(car::laps, tCarElt, _laps);
SAME(car::module, tCarElt, _modName);
SAME(car::wheel_spin, tCarElt, _wheelSpinVel(0));
SAME(car::wheel_segment, tCarElt, _wheelSeg(0));
EQUAL(car::wheel_stride, sizeof(tWheelState));
SAME(car::gear, tCarElt, _gear);
SAME(car::engine_speed, tCarElt, _enginerpm);
SAME(car::engine_red_line, tCarElt, _enginerpmRedLine);
SAME(car::gear_ratios, tCarElt, _gearRatio);
SAME(car::gears, tCarElt, _gearNb);
SAME(car::gear_offset, tCarElt, _gearOffset);
SAME(car::damage, tCarElt, _dammage);
SAME(car::controls, tCarElt, ctrl);
EQUAL(car::controls_size, sizeof(tCarCtrl));
SAME(car::steer, tCarElt, _steerCmd);
SAME(car::accelerator, tCarElt, _accelCmd);
SAME(car::gear_wanted, tCarElt, _gearCmd);
SAME(car::robot, tCarElt, robot);

#define SAME_PLACE(ours, our_member, theirs, their_member) \
    static_assert(offsetof(torcs::ours, our_member) == offsetof(theirs, their_member), #ours "." #our_member)

static_assert(sizeof(torcs::Robot) == sizeof(tRobotItf), "Robot");
SAME_PLACE(Robot, new_track, tRobotItf, rbNewTrack);
SAME_PLACE(Robot, new_race, tRobotItf, rbNewRace);
SAME_PLACE(Robot, end_race, tRobotItf, rbEndRace);
SAME_PLACE(Robot, drive, tRobotItf, rbDrive);
SAME_PLACE(Robot, pit, tRobotItf, rbPitCmd);
SAME_PLACE(Robot, shutdown, tRobotItf, rbShutdown);
SAME_PLACE(Robot, index, tRobotItf, index);

static_assert(sizeof(torcs::ModuleInfo) == sizeof(tModInfo), "ModuleInfo");
SAME_PLACE(ModuleInfo, name, tModInfo, name);
SAME_PLACE(ModuleInfo, description, tModInfo, desc);
SAME_PLACE(ModuleInfo, initialise, tModInfo, fctInit);
SAME_PLACE(ModuleInfo, kind, tModInfo, gfId);
SAME_PLACE(ModuleInfo, index, tModInfo, index);
EQUAL(interfaces_per_module, MAX_MOD_ITF);

static_assert(sizeof(torcs::Module) == sizeof(tModList), "Module");
SAME_PLACE(Module, handle, tModList, handle);
SAME_PLACE(Module, path, tModList, sopath);
SAME_PLACE(Module, next, tModList, next);

static_assert(sizeof(torcs::System) == sizeof(tGfOs), "System");
SAME_PLACE(System, load_module, tGfOs, modLoad);
SAME_PLACE(System, load_folder, tGfOs, modLoadDir);
SAME_PLACE(System, unload_modules, tGfOs, modUnloadList);
SAME_PLACE(System, module_info, tGfOs, modInfo);
SAME_PLACE(System, folder_info, tGfOs, modInfoDir);
SAME_PLACE(System, free_info, tGfOs, modFreeInfoList);
SAME_PLACE(System, list_folder, tGfOs, dirGetList);
SAME_PLACE(System, list_folder_filtered, tGfOs, dirGetListFiltered);
SAME_PLACE(System, clock, tGfOs, timeClock);

EQUAL(physics_seconds, RCM_MAX_DT_SIMU);
EQUAL(tick_seconds, RCM_MAX_DT_ROBOTS);
EQUAL(read_standard, GFPARM_RMODE_STD);
static_assert(std::is_same_v<tdble, float>, "TORCS' numbers are floats");
