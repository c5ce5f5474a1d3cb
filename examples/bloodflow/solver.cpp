// The solver: blood in a vessel that becomes two, on the ranks of an MPI job. See docs/guide/blood-flow.md.
// usage: solver [NAME=VALUE...]      the names are in options.hpp
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <couplet/couplet_mpi.hpp>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "run.hpp"

namespace {

using namespace bloodflow;

// Reports how far the run is: lines with a bar, and a series for the progress bar of couplet run.
class Progress {
 public:
  Progress(const Cast& cast, std::uint64_t rounds, std::uint64_t check_every)
      : is_head_(cast.rank == 0), rounds_(rounds), check_every_(check_every) {
    const std::int64_t stop = is_head_ ? 4 : 0;
    series_.emplace(cast.universe.create_series<double>("flow", {4}, {{0}, {stop}}));
  }
  void show(const Check& check) {
    const std::array<double, 4> values = {check.mass_excess, check.inward, check.outward, check.max_speed};
    const auto step = static_cast<std::int64_t>(check.round / check_every_);
    static_cast<void>(series_->put(std::span<const double>(values.data(), is_head_ ? 4 : 0), step));
    if (!is_head_ || check.round * 10 / rounds_ == shown_) return;
    shown_ = check.round * 10 / rounds_;
    std::ostringstream line;
    line << "[" << std::string(2 * shown_, '#') << std::string(20 - 2 * shown_, '.') << "] round " << check.round
         << " of " << rounds_ << std::fixed << std::setprecision(4) << "   largest speed " << check.max_speed;
    if (check.has_change) line << ", its change " << std::scientific << std::setprecision(1) << check.max_change;
    std::cout << (line.str() + "\n") << std::flush;
  }
  void close() {
    series_->close();
    series_.reset();
  }

 private:
  bool is_head_;
  std::uint64_t rounds_, check_every_, shown_ = 0;
  std::optional<couplet::Writer<double>> series_;
};

std::string hexadecimal(std::uint64_t number) {
  std::ostringstream text;
  text << '"' << std::hex << std::setw(16) << std::setfill('0') << number << '"';
  return text.str();
}

std::string json_of(const Times& times) {
  std::ostringstream text;
  text << R"({"total": )" << times.total << R"(, "communication": )" << times.communication << R"(, "pictures": )"
       << times.pictures << "}";
  return text.str();
}

std::string json_of(const Outcome& outcome, const Vessel& vessel) {
  std::ostringstream text;
  text << std::setprecision(17) << R"({"sites": )" << vessel.size() << R"(, "first_round": )" << outcome.first_round
       << R"(, "digest": )" << hexadecimal(outcome.digest) << R"(, "times": )" << json_of(outcome.times)
       << R"(, "frames": {)";
  for (std::size_t n = 0; n < outcome.frames.size(); ++n) {
    text << (n > 0 ? ", " : "") << '"' << outcome.rounds[n] << R"(": )" << hexadecimal(outcome.frames[n]);
  }
  text << R"(}, "checks": [)";
  for (const Check& one : outcome.checks) {
    text << (&one == outcome.checks.data() ? "" : ", ") << '[' << one.round << ", " << one.mass_excess << ", "
         << one.inward << ", " << one.outward << ", " << one.max_speed << ", " << one.max_change << ']';
  }
  text << R"(], "rank_0": )" << outcome.report << "}\n";
  return text.str();
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

void run_once(const Cast& cast, const Vessel& vessel, const Options& options) {
  Progress progress(cast, options.rounds, options.check_every);
  Run run(cast, vessel, options, "blood flow", [&](const Check& check) { progress.show(check); });
  const Outcome outcome = run.go();
  progress.close();
  run.write_profile(std::filesystem::path(options.output));
  if (cast.rank == 0) write_file(std::filesystem::path(options.output) / "run.json", json_of(outcome, vessel));
}

// The table of times: numbers of frames, in each case in pairs of runs, coalesced and not, that take turns.
void run_table(const Cast& cast, const Vessel& vessel, const Options& options) {
  std::ostringstream lines;
  int number = 0;
  for (const std::uint64_t frames : {10, 100, 200}) {
    for (int pair = 0; pair < options.table; ++pair) {
      for (const bool second : {false, true}) {
        const bool is_merged = (pair % 2 == 0) != second;
        Options one = options;
        one.merge_waits = is_merged;
        one.merge_messages = is_merged;
        one.frame_every = std::max<std::uint64_t>(options.rounds / frames, 1);
        Run run(cast, vessel, one, "table " + std::to_string(number++), [](const Check& /*check*/) {});
        const Outcome outcome = run.go();
        lines << R"({"sites": )" << vessel.size() << R"(, "ranks": )" << cast.rank_count << R"(, "rounds": )"
              << options.rounds << R"(, "frames": )" << frames << R"(, "pair": )" << pair << R"(, "merged": )"
              << (is_merged ? "true" : "false") << R"(, "digest": )" << hexadecimal(outcome.digest) << R"(, "times": )"
              << json_of(outcome.times) << R"(, "rank_0": )" << outcome.report << "}\n";
        if (cast.rank == 0) {
          std::cout << frames << " frames, " << (is_merged ? "coalesced" : "separate ") << ", pair " << pair + 1 << '\n'
                    << std::flush;
        }
      }
    }
  }
  if (cast.rank == 0) write_file(std::filesystem::path(options.output) / "table.jsonl", lines.str());
}

void solve(const Options& options) {
  couplet::Universe universe = couplet::join("solver", MPI_COMM_WORLD);
  int rank = 0;
  int rank_count = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  const Cast cast{universe, MPI_COMM_WORLD, rank, rank_count, options.viewer ? universe.find_rank("viewer", 0) : -1};
  const Vessel vessel(shape_of(options.shape), options.radius);
  if (options.table > 0) {
    run_table(cast, vessel, options);
  } else {
    run_once(cast, vessel, options);
  }
  universe.leave();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    options = read_options(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "solver: " << error.what() << '\n' << std::flush;
    return 2;
  }
  MPI_Init(&argc, &argv);
  try {
    solve(options);
  } catch (const std::exception& error) {
    std::cerr << "solver: " << error.what() << '\n' << std::flush;
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
