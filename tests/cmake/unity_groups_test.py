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
const Part whole({1}, 2);
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
        names = unity_groups.own_names(source(inside, "int open();\n"))
        self.assertEqual(names.functions, {"text"})
        self.assertEqual(names.others, {"most", "whole", "all", "Part", "Kind"})
        self.assertEqual(names.aliases, {"Clock": "using Clock = std::chrono::steady_clock;"})


class GroupsTest(unittest.TestCase):
    def groups(self, *texts, most=100):
        """Returns the numbers of the groups."""
        return unity_groups.groups_of(list(texts), most)

    def test_strangers_share_one(self):
        self.assertEqual(self.groups(source("int a();\n"), source("int b();\n"), source("int c();\n")), [0, 0, 0])

    def test_who_define_the_same_name_do_not(self):
        same = source("int parse(int) {\n")
        self.assertEqual(self.groups(same, same, source("int other();\n"), same), [0, 1, 0, 2])

    def test_a_source_does_not_say_what_one_before_it_defines(self):
        defines, says = source("int index = 0;\n"), source("int other() {\n  int index = 1;\n")
        self.assertEqual(self.groups(defines, says), [0, 1])

    def test_what_stands_before_a_definition_does_not_see_it(self):
        defines, says = source("int index = 0;\n"), source("int other() {\n  int index = 1;\n")
        self.assertEqual(self.groups(says, defines), [0, 0])

    def test_a_name_of_something_else_is_no_clash(self):
        defines = source("int index = 0;\n")
        for says in (
            "  // An index.\n",
            '  say("the \\"index\\" of");\n',
            "  part.index = 1;\n",
            "  part->index();\n",
            "  std::index();\n",
            "  return Part{.index = 1};\n",
            '  say(R"(\n"index)");\n',
        ):
            self.assertEqual(self.groups(defines, source("int other() {\n" + says)), [0, 0], says)
        for says in (
            "  const auto one = [] -> index {};\n",
            "  say('\"' + index + '\"');\n",
            "  znni::index();\n",
            "  use(parts...index);\n",
        ):
            self.assertEqual(self.groups(defines, source("int other() {\n" + says)), [0, 1], says)

    def test_a_function_clashes_with_what_may_call_it(self):
        defines = source("int index(int of) {\n")
        for says in (
            "  index(1);\n",
            "  index<int>(1);\n",
            "  use(&index);\n",
            "  const auto index = [](int) {};\n  index(2);\n",
        ):
            self.assertEqual(self.groups(defines, source("int other() {\n" + says)), [0, 1], says)
        for says in ("  int index = 1;\n", "  return index + 1;\n", "  parts[index] = {index};\n"):
            self.assertEqual(self.groups(defines, source("int other() {\n" + says)), [0, 0], says)

    def test_the_same_alias_may_be_repeated(self):
        clock = source("using Clock = std::chrono::steady_clock;\nint a() {\n  Clock::now();\n")
        other = source("using Clock = std::chrono::system_clock;\nint b() {\n  Clock::now();\n")
        says = source("int c() {\n  Clock::now();\n")
        again = source("using Clock = std::chrono::steady_clock;\nint d() {\n  Clock::now();\n")
        self.assertEqual(self.groups(clock, other, says, again), [0, 1, 2, 0])

    def test_no_source_defines_what_one_before_it_takes_over(self):
        takes = source("using testing::Each;\nint a() {\n")
        enumerates = source("using enum Layout;\nint b() {\n  return use(planar);\n")
        self.assertEqual(self.groups(takes, source("int Each(int) {\n")), [0, 1])
        self.assertEqual(self.groups(source("int Each(int) {\n"), takes), [0, 1])
        self.assertEqual(self.groups(enumerates, source("constexpr Format planar{1};\n")), [0, 1])
        self.assertEqual(self.groups(takes, takes.replace("a()", "c()")), [0, 0])

    def test_no_variable_of_a_function_hides_one_for_all_sources(self):
        defines = source("int a() {\n", "extern const Primitive crop{1};\n")
        self.assertEqual(self.groups(defines, source("int b() {\n  int crop = 1;\n")), [0, 1])
        self.assertEqual(self.groups(defines, source("int b() {\n", "extern const Primitive crop;\n")), [0, 0])

    def test_no_source_defines_for_itself_what_one_before_it_defines_for_all(self):
        defines = source("int a() {\n", "int open(int) {\n}\n")
        self.assertEqual(self.groups(defines, source("int open(double) {\n")), [0, 1])

    def test_a_group_that_is_full_takes_no_more(self):
        lines = source("int a();\n").count("\n")
        texts = [source(f"int f{number}();\n") for number in range(5)]
        self.assertEqual(self.groups(*texts, most=2 * lines), [0, 0, 1, 1, 2])
        self.assertEqual(self.groups(*texts[:2], most=1), [0, 1])


class HeadersTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        for kept_of in ("with_included", "declared_by", "called_by", "locals_of"):
            self.addCleanup(getattr(unity_groups, kept_of).cache_clear)
        self.addCleanup(setattr, unity_groups, "ROOT", unity_groups.ROOT)
        unity_groups.ROOT = pathlib.Path(kept.name)
        (unity_groups.ROOT / "place.hpp").write_text("namespace znni {\nenum class Place : int { cpu };\n}\n")
        (unity_groups.ROOT / "plan.hpp").write_text('#include "place.hpp"\nstruct Plan {\n  int hidden;\n};\n')

    def groups(self, *texts):
        """Returns the numbers of the groups."""
        return unity_groups.groups_of(list(texts), 100)

    def test_what_headers_declare_is_known_to_their_sources(self):
        headers = unity_groups.Source('#include "plan.hpp"\n#include "generated.pb.h"\n').headers
        self.assertEqual(headers, {"plan.hpp", "place.hpp"})
        self.assertEqual(unity_groups.over(headers, unity_groups.declared_by), {"Plan", "Place"})

    def test_no_source_defines_what_a_later_header_declares(self):
        defines = source("struct Place {\n")
        self.assertEqual(self.groups(defines, '#include "plan.hpp"\n'), [0, 1])

    def test_nor_what_a_header_declares_that_it_does_not_include(self):
        self.assertEqual(self.groups('#include "plan.hpp"\n', source("struct Place {\n")), [0, 1])

    def test_a_function_of_a_header_that_both_include_may_be_handed_on_by_its_name(self):
        (unity_groups.ROOT / "sum.hpp").write_text("namespace znni {\nint sum(int, int);\n}\n")
        include = '#include "sum.hpp"\n'
        defines = include + source("int sum(const Part& part) {\n")
        self.assertEqual(self.groups(defines, include + source("int other() {\n  fold(parts, sum);\n")), [0, 1])
        self.assertEqual(self.groups(defines, include + source("int other() {\n  fold(parts);\n")), [0, 0])

    def test_no_source_hides_what_a_later_header_calls(self):
        (unity_groups.ROOT / "file.hpp").write_text("inline void end(int file) {\n  close(file);\n}\n")
        self.assertEqual(self.groups(source("int close(int) {\n"), '#include "file.hpp"\n'), [0, 1])

    def test_variables_in_functions_of_later_headers_hide_none(self):
        (unity_groups.ROOT / "sizes.hpp").write_text(
            """int product(const Size& shape);
struct Sized {
  Size extent;
  int volume() const {
    const int rows = 2;
    const auto [width, height] = sizes();
  }
};
"""
        )
        for name in ("rows", "width", "height"):
            defines = source(f"constexpr int {name} = 2;\n")
            self.assertEqual(self.groups(defines, '#include "sizes.hpp"\n'), [0, 1], name)
        # Parameters of what has no body, and members.
        for name in ("shape", "extent"):
            defines = source(f"constexpr int {name} = 2;\n")
            self.assertEqual(self.groups(defines, '#include "sizes.hpp"\n'), [0, 0], name)


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
