// SPDX-License-Identifier: GPL-2.0-or-later
// framedream's TORCS host: one car, driven in lock step by whoever holds the other ends of stdin and stdout.
//
//   torcs_host LIBRARY/ DATA/ LOCAL/ CAR HEIGHT WIDTH SAMPLES
//
// All numbers are little-endian. On its start the host sends a Greeting; then it answers each request with a word, the
// state of the car and the picture. It ends when stdin does, also while TORCS is busy, and takes LOCAL with it: the
// folder was made for it, and whoever made it may have been killed.
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "host.h"

namespace {

constexpr std::uint32_t protocol = 0x31544446; // "FDT1"

struct Greeting {
    std::uint32_t protocol;
    float track_length;
    char renderer[200];
};
struct Reset { // after the letter R
    std::uint32_t seed;
    float place;
    std::uint32_t pictures;
};
struct Step { // after the letter S
    float steer, accelerator;
    std::uint32_t ticks;
};
struct Answer {
    std::uint32_t protocol;
    float state[race::columns];
};

int answers;
std::string folder;

// Without TORCS' own way out, which takes down more than it has put up.
[[noreturn]] void leave() {
    static std::mutex first;
    first.lock(); // whoever comes second only waits for the end
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    _exit(0);
}

bool read_all(void *place, std::size_t size) {
    for (auto *at = static_cast<char *>(place); size;) {
        const ssize_t count = read(STDIN_FILENO, at, size);
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        if (count > 0)
            at += count, size -= std::size_t(count);
    }
    return true;
}

void write_all(const void *place, std::size_t size) {
    for (auto *at = static_cast<const char *>(place); size;) {
        const ssize_t count = write(answers, at, size);
        if (count < 0 && errno != EINTR)
            leave(); // nobody is listening any more
        if (count > 0)
            at += count, size -= std::size_t(count);
    }
}

void answer() {
    Answer answer{protocol, {}};
    race::read_state(answer.state);
    write_all(&answer, sizeof answer);
    write_all(window::read(), window::bytes());
}

void greet() {
    Greeting greeting{protocol, race::track_length(), {}};
    std::snprintf(greeting.renderer, sizeof greeting.renderer, "%s", window::renderer().c_str());
    write_all(&greeting, sizeof greeting);
}

// Should TORCS hang while the parent is killed, nobody would read the end of stdin.
void end_with_parent() {
    std::thread([] {
        pollfd input{STDIN_FILENO, 0, 0};
        while (poll(&input, 1, -1) < 0 && errno == EINTR) {
        }
        leave();
    }).detach();
}

bool obey() {
    char letter;
    if (!read_all(&letter, 1))
        return false;
    if (letter == 'R') {
        Reset reset;
        if (!read_all(&reset, sizeof reset))
            return false;
        race::start(reset.seed, reset.place, int(reset.pictures));
    } else if (letter == 'S') {
        Step step;
        if (!read_all(&step, sizeof step))
            return false;
        race::drive(step.steer, step.accelerator, int(step.ticks));
    } else {
        give_up("unknown request %d", letter);
    }
    answer();
    return true;
}

} // namespace

void give_up(const char *format, ...) {
    std::va_list values;
    va_start(values, format);
    std::fputs("torcs_host: ", stderr);
    std::vfprintf(stderr, format, values);
    std::fputc('\n', stderr);
    std::fflush(stderr);
    _exit(3);
}

int main(int count, char **words) {
    if (count != 8)
        give_up("usage: torcs_host LIBRARY/ DATA/ LOCAL/ CAR HEIGHT WIDTH SAMPLES");
    folder = words[3];
    std::signal(SIGPIPE, SIG_IGN); // a parent that is gone is to be noticed by write, and left in order
    end_with_parent();
    // TORCS talks on stdout: to nobody.
    answers = dup(STDOUT_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    window::set_size(std::atoi(words[5]), std::atoi(words[6]), std::atoi(words[7]));
    race::load(words[1], words[2], words[3], words[4]);
    greet();
    while (obey()) {
    }
    leave();
}
