"""Groups of sources that are compiled as one. Usage: unity_groups_test.py CMAKE-FOLDER."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = sys.argv.pop()
sys.path.insert(0, FOLDER)

import unity_groups


def source(inside, outside=""):
    """Returns a source with `inside` in its unnamed namespace."""
    return f"namespace znni {{\nnamespace {{\n\n{inside}\n}}  // namespace\n\n{outside}\n}}  // namespace znni\n"


class OwnNamesTest(unittest.TestCase):
    def test_are_what_unnamed_namespaces_define(self):
        inside = """using testing::HasSubstr;
using Clock = std::chrono::steady_clock;
constexpr int most = 4;
const std::vector<int> all = {1};
struct Part {
  int hidden;
};
enum class Kind : int { one };
// spoken(of)
template <typename T>
[[nodiscard]] std::string text(const T& value) {
  return local(value);
}
TEST(Suite, Name) {
"""
        self.assertEqual(
            unity_groups.own_names(source(inside, "int open();\n")), {"Clock", "most", "all", "Part", "Kind", "text"}
        )


class GroupsTest(unittest.TestCase):
    def groups(self, *texts, most=100):
        """Returns the numbers of the groups."""
        return unity_groups.groups_of(list(texts), most)

    def test_strangers_share_one(self):
        self.assertEqual(self.groups(source("int a();\n"), source("int b();\n"), source("int c();\n")), [0, 0, 0])

    def test_who_define_the_same_name_do_not(self):
        same = source("int parse(int) {\n")
        self.assertEqual(self.groups(same, same, source("int other();\n"), same), [0, 1, 0, 2])

    def test_nor_do_those_of_whom_one_says_what_the_other_defines(self):
        defines, says = source("int index = 0;\n"), source("int other() {\n  int index = 1;\n")
        self.assertEqual(self.groups(defines, says), [0, 1])
        self.assertEqual(self.groups(says, defines), [0, 1])

    def test_but_those_of_whom_one_says_it_of_something_else_do(self):
        defines = source("int index = 0;\n")
        for says in (
            "  // An index.\n",
            '  say("the \\"index\\" of");\n',
            "  part.index = 1;\n",
            "  part->index();\n",
            "  std::index();\n",
            '  say(R"(\n"index)");\n',
        ):
            self.assertEqual(self.groups(defines, source("int other() {\n" + says)), [0, 0], says)
        for says in ("  const auto one = [] -> index {};\n", "  say('\"' + index + '\"');\n", "  znni::index();\n"):
            self.assertEqual(self.groups(defines, source("int other() {\n" + says)), [0, 1], says)

    def test_a_group_that_is_full_takes_no_more(self):
        lines = source("int a();\n").count("\n")
        texts = [source(f"int f{number}();\n") for number in range(5)]
        self.assertEqual(self.groups(*texts, most=2 * lines), [0, 0, 1, 1, 2])
        self.assertEqual(self.groups(*texts[:2], most=1), [0, 1])


class HeadersTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.addCleanup(unity_groups.declared_by.cache_clear)
        self.addCleanup(setattr, unity_groups, "ROOT", unity_groups.ROOT)
        unity_groups.ROOT = pathlib.Path(kept.name)
        (unity_groups.ROOT / "place.hpp").write_text("namespace znni {\nenum class Place : int { cpu };\n}\n")
        (unity_groups.ROOT / "plan.hpp").write_text('#include "place.hpp"\nstruct Plan {\n  int hidden;\n};\n')

    def test_what_headers_declare_is_known_to_their_sources(self):
        words = unity_groups.words_of('#include "plan.hpp"\n#include "generated.pb.h"\n')
        self.assertLessEqual({"Plan", "Place"}, words)
        self.assertNotIn("hidden", words)

    def test_nobody_defines_what_a_header_in_the_group_declares(self):
        defines = source("struct Place {\n")
        self.assertEqual(unity_groups.groups_of([defines, '#include "plan.hpp"\n'], 100), [0, 1])


class ProgramTest(unittest.TestCase):
    def test_prints_a_list_of_cmake(self):
        with tempfile.TemporaryDirectory() as folder:
            names = [pathlib.Path(folder, name) for name in ("a.cpp", "b.cpp")]
            for name in names:
                name.write_text(source("int same();\n"))
            done = subprocess.run(
                [sys.executable, "-B", f"{FOLDER}/unity_groups.py", "100", *map(str, names)],
                capture_output=True,
                text=True,
                check=True,
            )
        self.assertEqual(done.stdout, "0;1")


if __name__ == "__main__":
    unittest.main()
