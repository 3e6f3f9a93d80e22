// Compiles volk, which opens libvulkan when the program runs and holds what it finds there.
#define VOLK_IMPLEMENTATION
#include <volk.h>
