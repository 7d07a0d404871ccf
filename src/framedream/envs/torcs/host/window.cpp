// SPDX-License-Identifier: GPL-2.0-or-later
// A window that is never shown: TORCS calls GLUT, which here draws into an off-screen buffer of EGL. No display needed.
#include <cstring>
#include <vector>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>

#include "host.h"

namespace {

int height, width, samples;
std::vector<std::uint8_t> rendered, picture;

void open_off_screen() {
    auto get_display =
        reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(eglGetProcAddress("eglGetPlatformDisplayEXT"));
    EGLDisplay display =
        get_display ? get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr) : EGL_NO_DISPLAY;
    if (display == EGL_NO_DISPLAY || !eglInitialize(display, nullptr, nullptr) || !eglBindAPI(EGL_OPENGL_API))
        give_up("EGL cannot draw without a display (error 0x%x)", eglGetError());
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                             EGL_RED_SIZE,     8,               EGL_GREEN_SIZE,      8,
                             EGL_BLUE_SIZE,    8,               EGL_ALPHA_SIZE,      8,
                             EGL_DEPTH_SIZE,   24,              EGL_STENCIL_SIZE,    8,
                             EGL_NONE};
    EGLConfig config;
    EGLint found = 0;
    if (!eglChooseConfig(display, wanted, &config, 1, &found) || found == 0)
        give_up("EGL has no off-screen buffer for OpenGL");
    const EGLint size[] = {EGL_WIDTH, width * samples, EGL_HEIGHT, height * samples, EGL_NONE};
    EGLSurface surface = eglCreatePbufferSurface(display, config, size);
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, nullptr);
    if (surface == EGL_NO_SURFACE || context == EGL_NO_CONTEXT ||
        !eglMakeCurrent(display, surface, surface, context))
        give_up("EGL cannot make a picture of %d x %d pixels (error 0x%x)", height * samples, width * samples,
                eglGetError());
}

// From OpenGL's bottom row first to top row first, with the mean of each block of samples.
void turn_over() {
    const std::size_t wide_row = std::size_t(width) * samples * 3;
    for (int row = 0; row < height; row++) {
        std::uint8_t *out = picture.data() + std::size_t(row) * width * 3;
        const std::uint8_t *in = rendered.data() + std::size_t(height - 1 - row) * samples * wide_row;
        if (samples == 1) {
            std::memcpy(out, in, wide_row);
            continue;
        }
        for (int column = 0; column < width; column++, in += samples * 3)
            for (int colour = 0; colour < 3; colour++) {
                int sum = samples * samples / 2;
                for (int y = 0; y < samples; y++)
                    for (int x = 0; x < samples; x++)
                        sum += in[y * wide_row + x * 3 + colour];
                *out++ = std::uint8_t(sum / (samples * samples));
            }
    }
}

} // namespace

namespace window {

void set_size(int rows, int columns, int samples_per_side) {
    height = rows, width = columns, samples = samples_per_side;
    rendered.resize(std::size_t(height) * width * samples * samples * 3);
    picture.resize(bytes());
}

std::size_t bytes() { return std::size_t(height) * width * 3; }

std::string renderer() {
    auto text = [](GLenum name) { return std::string(reinterpret_cast<const char *>(glGetString(name))); };
    return text(GL_RENDERER) + ", " + text(GL_VERSION);
}

const std::uint8_t *read() {
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glPixelStorei(GL_PACK_ROW_LENGTH, 0);
    glReadPixels(0, 0, width * samples, height * samples, GL_RGB, GL_UNSIGNED_BYTE, rendered.data());
    turn_over();
    return picture.data();
}

} // namespace window

// What TORCS and plib call of GLUT. Only a window that opens and has a size does anything.
extern "C" {
int glutCreateWindow(const char *) {
    open_off_screen();
    return 1;
}
void glutReshapeFunc(void (*resized)(int, int)) {
    if (resized)
        resized(width * samples, height * samples);
}
int glutExtensionSupported(const char *name) {
    const char *all = reinterpret_cast<const char *>(glGetString(GL_EXTENSIONS));
    return all && std::strstr(all, name);
}
int glutGet(unsigned) { return 1; } // "is this kind of picture possible?" above all
int glutGetModifiers() { return 0; }
int glutGameModeGet(unsigned) { return 0; }
int glutEnterGameMode() { return 0; }
void glutLeaveGameMode() {}
void glutGameModeString(const char *) {}
void glutInit(int *, char **) {}
void glutInitDisplayMode(unsigned) {}
void glutInitDisplayString(const char *) {}
void glutInitWindowPosition(int, int) {}
void glutInitWindowSize(int, int) {}
void glutFullScreen() {}
void glutDisplayFunc(void (*)()) {}
void glutIdleFunc(void (*)()) {}
void glutTimerFunc(unsigned, void (*)(int), int) {}
void glutKeyboardFunc(void (*)(unsigned char, int, int)) {}
void glutKeyboardUpFunc(void (*)(unsigned char, int, int)) {}
void glutSpecialFunc(void (*)(int, int, int)) {}
void glutSpecialUpFunc(void (*)(int, int, int)) {}
void glutMouseFunc(void (*)(int, int, int, int)) {}
void glutMotionFunc(void (*)(int, int)) {}
void glutPassiveMotionFunc(void (*)(int, int)) {}
void glutPostRedisplay() {}
void glutSwapBuffers() {}
void glutSetCursor(int) {}
void glutWarpPointer(int, int) {}
// plib refuses to start without a current context of X; it only compares the answer with null.
void *glXGetCurrentContext() { return reinterpret_cast<void *>(1); }
}
