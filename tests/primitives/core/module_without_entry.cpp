// A shared library that is no module, for modules_test.
extern "C" int znni_something_else() { return 0; }
