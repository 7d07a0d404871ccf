// SPDX-License-Identifier: GPL-2.0-or-later
#include "modules.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>

#include "driver.h"

namespace {

// The picture maker keeps state that outlives a race: it is loaded once and stays.
const std::string stays_loaded = "ssggraph";
void *kept = nullptr;

// /…/simuv2.so as simuv2, which is also the name of the function that introduces the module.
std::string short_name(const char *path) {
    const std::string file = std::strrchr(path, '/') ? std::strrchr(path, '/') + 1 : path;
    return file.substr(0, file.rfind(".so"));
}

bool introduce_driver(torcs::Module *module) {
    torcs::ModuleInfo &info = module->info[0];
    info.name = strdup(driver::name);
    info.description = strdup(driver::name);
    info.initialise = driver::initialise;
    info.index = driver::index;
    return true;
}

bool introduce_file(const std::string &name, const char *path, torcs::Module *module) {
    module->handle = name == stays_loaded && kept ? kept : dlopen(path, RTLD_NOW);
    if (!module->handle) {
        std::fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    if (name == stays_loaded)
        kept = module->handle;
    auto introduce = reinterpret_cast<int (*)(torcs::ModuleInfo *)>(dlsym(module->handle, name.c_str()));
    return introduce && introduce(module->info) == 0;
}

int load(unsigned, char *path, torcs::Module **modules) {
    const std::string name = short_name(path);
    auto *module = static_cast<torcs::Module *>(std::calloc(1, sizeof(torcs::Module)));
    const bool loaded = name == driver::name ? introduce_driver(module) : introduce_file(name, path, module);
    if (!loaded) {
        std::free(module);
        return -1;
    }
    module->path = strdup(path);
    torcs::Module *last = *modules;
    module->next = last ? last->next : module;
    if (last)
        last->next = module;
    *modules = module;
    return 0;
}

void unload(torcs::Module *module) {
    if (module->handle) {
        auto end = reinterpret_cast<int (*)()>(dlsym(module->handle, (short_name(module->path) + "Shut").c_str()));
        if (end)
            end();
        if (module->handle != kept)
            dlclose(module->handle);
    }
    for (torcs::ModuleInfo &info : module->info)
        if (info.name) {
            std::free(info.name);
            std::free(info.description);
        }
    std::free(module->path);
    std::free(module);
}

int unload_all(torcs::Module **modules) {
    torcs::Module *last = *modules;
    *modules = nullptr;
    if (!last)
        return 0;
    torcs::Module *module = last->next;
    while (module != last) {
        torcs::Module *next = module->next;
        unload(module);
        module = next;
    }
    unload(last);
    return 0;
}

} // namespace

namespace modules {

torcs::System system(double (*clock)()) {
    torcs::System system{};
    system.load_module = load;
    system.unload_modules = unload_all;
    system.clock = clock;
    // The rest serves TORCS' menus.
    system.load_folder = system.module_info = [](unsigned, char *, torcs::Module **) { return -1; };
    system.folder_info = [](unsigned, char *, int, torcs::Module **) { return -1; };
    system.free_info = [](torcs::Module **) { return 0; };
    system.list_folder = [](const char *) -> void * { return nullptr; };
    system.list_folder_filtered = [](const char *, const char *) -> void * { return nullptr; };
    return system;
}

} // namespace modules
