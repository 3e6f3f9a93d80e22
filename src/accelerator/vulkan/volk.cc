// Compiles volk, which opens libvulkan when the program runs and holds its functions.
#define VOLK_IMPLEMENTATION
#include <volk.h>
