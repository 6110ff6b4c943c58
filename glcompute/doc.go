// Package glcompute opens an OpenGL 4.3 core context for compute, without a
// display or with one, and offers programs, buffers and timers on it in
// standard types. It is the only package of the project that uses cgo.
//
// # Who owns the thread
//
// A GL context is current on one operating-system thread at a time. Each
// [Device] therefore has a [Thread]: a goroutine locked to its OS thread for as
// long as the device lives. [Device.Do] runs a function there; every method of
// Device that touches GL must be called inside such a function, and Do must not
// be called again from inside it. Functions from many goroutines run one after
// another, in the order in which they arrive. Devices may be used at the same
// time. They share nothing, except that [Device.OpenShared] opens a second device
// with the buffers and programs of the first, to compile on another thread or to
// give commands while the first waits.
//
// GLFW also demands that windows are made and destroyed on the process's main
// thread. A program that wants the GLFW backend calls [Main] from its main
// function and does everything else in the function it passes. Without a running
// Main the EGL backend works and the GLFW backend reports why it does not.
//
// # Mapped memory
//
// The memory of a [Device.NewMapped] buffer is written and read by any goroutine,
// without Do, also while a kernel runs. Its address stays on the C side: Go names
// a buffer and an offset, and a copy that is under way delays the unmapping.
//
// # Windows
//
// [OpenWindow] shows buffers of a device where they are, in a third context of its
// share group with a thread of its own. Contexts of EGL and of a window system
// share nothing, so the device has to be one that GLFW opened.
//
// # What Open does
//
// [Open] tries the ways to a context in a fixed order and records each as an
// [Attempt]:
//
//  1. egl-device: every device that eglQueryDevicesEXT lists and that does not
//     call itself software, in the driver's order. A machine with an NVIDIA
//     driver beside Mesa gets the GPU here; through the surfaceless platform
//     the vendor library that answers first would decide.
//  2. egl-surfaceless: EGL_MESA_platform_surfaceless.
//  3. egl-default: eglGetDisplay(EGL_DEFAULT_DISPLAY).
//  4. egl-device again, the devices that are software.
//  5. glfw: a hidden window, if a display is known and Main runs.
//
// The first context on hardware wins. A context whose renderer is software
// (llvmpipe, softpipe, swrast, SwiftShader) is kept aside while the other EGL
// ways are tried and is used if none leads to hardware; GLFW is tried only when
// EGL gave nothing.
//
// A context is 4.3 core, without a surface. It is asked for with robust buffer
// access and loss on reset, and without them if the driver refuses. libEGL is loaded with
// dlopen at that time, never linked.
//
// No way open is an [UnavailableError], which lists every attempt and what to
// install. Nothing here panics because a driver or a display is absent.
//
// # Build variants
//
// The API is the same in all of them.
//
//   - default: EGL and GLFW (X11). The binary needs libGL and libX11 to start.
//   - -tags noglfw,egl: EGL only. The binary needs libc only, so it starts on a
//     machine without GL and says what is missing. (go-gl's own tag egl replaces
//     its link to libGL by one to libEGL, and this package supplies the one
//     function it would take from there.) With noglfw alone libGL is linked.
//   - CGO_ENABLED=0, or a system other than Linux: Open returns an
//     UnavailableError that names the build.
//
// # System packages
//
// The names are the same on Debian 12 and Ubuntu 24.04.
//
//   - to build the default: gcc libc6-dev pkg-config libgl-dev libegl-dev
//     libx11-dev libxrandr-dev libxxf86vm-dev libxi-dev libxcursor-dev
//     libxinerama-dev
//   - to build noglfw,egl: gcc libc6-dev pkg-config libegl-dev
//   - to run the default: libgl1 libx11-6 and, for a context, libegl1
//     libgl1-mesa-dri (or the NVIDIA driver with its EGL part); GLFW loads
//     libxrandr2 libxxf86vm1 libxi6 libxcursor1 libxinerama1
//   - to run noglfw,egl: libegl1 libgl1-mesa-dri, or the NVIDIA driver
//   - to test: xvfb, for the GLFW backend
//
// # Costs
//
// A Do is two switches between OS threads: 16 µs on a 16-core host of an H200, 50
// to 80 µs on a busy machine of two virtual cores. A launch with its uploads and
// its collection belongs into one Do, not into one each. What drivers do that no
// specification says is in docs/drivers.md.
package glcompute
