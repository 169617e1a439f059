// A shared library that is not a module, for modules_test.
extern "C" int znni_something_else() { return 0; }
