// Replaces operator new and operator delete of a test program, so that the test counts allocations
// or makes them fail. The program is built with replaced_new.cc.
#pragma once

namespace hearth {

// Defined by the test. It is called before each allocation, on the thread that allocates, possibly
// before main(). If it returns false, the allocation fails.
bool may_allocate();

}  // namespace hearth
