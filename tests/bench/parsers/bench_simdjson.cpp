/* tests/bench/parsers/bench_simdjson.cpp - the same file, with simdjson
 *
 * For comparison only; the project has no C++ and does not build this file.
 *     g++ -O2 -std=c++17 bench_simdjson.cpp -o bench_simdjson \
 *         $(pkg-config --cflags --libs simdjson)
 *     bench_simdjson FILE [ROUNDS]
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <simdjson.h>

struct seen {
    unsigned long long numbers = 0, texts = 0, bytes = 0;
    double sum = 0;
};

static void see_text (seen &s, std::string_view text)
{
    s.texts++;
    s.bytes += text.size ();
}

static void see (seen &s, simdjson::ondemand::value v)
{
    using simdjson::ondemand::json_type;

    switch (v.type ()) {
    case json_type::object:
        for (auto field : v.get_object ()) {
            see_text (s, field.unescaped_key ());
            see (s, field.value ());
        }
        break;
    case json_type::array:
        for (auto e : v.get_array ())
            see (s, e.value ());
        break;
    case json_type::string:
        see_text (s, v.get_string ());
        break;
    case json_type::number:
        s.numbers++;
        s.sum += double (v.get_double ());
        break;
    default:
        break;
    }
}

int main (int argc, char **argv)
{
    int rounds = argc > 2 ? atoi (argv[2]) : 5;
    double best = 1e99, mb = 0;
    seen s;

    if (argc < 2)
        return 2;
    for (int i = 0; i < rounds; i++) {
        auto start = std::chrono::steady_clock::now ();
        auto text = simdjson::padded_string::load (argv[1]);
        simdjson::ondemand::parser parser;
        simdjson::padded_string json = std::move (text.value ());
        auto doc = parser.iterate (json);

        s = seen ();
        see (s, doc.get_value ());
        std::chrono::duration<double> t =
            std::chrono::steady_clock::now () - start;
        mb = double (json.size ()) / 1e6;
        if (t.count () < best)
            best = t.count ();
    }
    printf ("%-28s %8.1f %10.1f %9s   %llu %llu %llu %.17g\n",
            "simdjson, file in memory", best * 1e3, mb / best, "",
            s.numbers, s.texts, s.bytes, s.sum);
    return 0;
}
