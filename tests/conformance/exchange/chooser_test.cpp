// The choice of a method, and the mixture of two.
#include <fstream>

#include "exchange/mapped.hpp"
#include "exchange/mixed.hpp"
#include "exchange/two_sided.hpp"
#include "exchange_case.hpp"

namespace couplet::conformance {
namespace {

using Numbers = std::vector<double>;

// A member with several methods.
struct Chooser {
  Party& party;
  exchange::MappedMaker mapped;
  exchange::TwoSidedMaker two_sided;
  exchange::MixedMaker mixed{two_sided};
  std::unique_ptr<Exchange> exchange;
  std::vector<Numbers> out{3, Numbers(40)};
  std::vector<Numbers> in{3, Numbers(40)};
  std::vector<std::uint32_t> edges;

  Chooser(Party& member, const std::string& directory, const std::string& method, exchange::Maker* extra = nullptr,
          const std::string& cache = "", const cost::MachineCosts* costs = nullptr)
      : party(member), two_sided(*party.messenger) {
    exchange::Surroundings around;
    around.messenger = party.messenger.get();
    around.engine = party.engine.get();
    around.run_directory = directory;
    around.choice_cache = cache;
    around.costs = costs;
    around.cost_origin = costs != nullptr ? "cost file of " + costs->machine : "";
    if (extra != nullptr) around.makers.push_back(extra);
    around.makers.insert(around.makers.end(), {&mapped, &two_sided, &mixed});
    auto made = Exchange::create(around, party.group(), "chosen", {.method = method, .timeout_s = 30});
    EXPECT_TRUE(made.ok());
    exchange = std::move(*made);
    for (int peer = 0; peer < party.group().size(); ++peer) {
      if (peer == party.rank()) continue;
      for (const Direction direction : {Direction::out, Direction::in}) {
        auto& data = (direction == Direction::out ? out : in)[static_cast<std::size_t>(peer)];
        EXPECT_OK(exchange
                      ->add({.direction = direction,
                             .peer = peer,
                             .regions = {{.memory = reinterpret_cast<std::byte*>(data.data()), .run_bytes = 320}}})
                      .status());
      }
    }
  }
  ~Chooser() {
    static_cast<void>(exchange->close());
    if (!exchange->is_idle()) bury(party, std::move(exchange));
  }
  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;

  void check_rounds(int rank, int size) {
    for (int round = 0; round < 30; ++round) {
      for (int peer = 0; peer < size; ++peer) {
        for (double& number : out[static_cast<std::size_t>(peer)]) number = rank * 1000 + peer * 100 + round;
      }
      MUST(exchange->start());
      MUST(exchange->wait(os::deadline_after(30)));
      for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        for (const double number : in[static_cast<std::size_t>(peer)]) {
          ASSERT_EQ(number, peer * 1000 + rank * 100 + round);
        }
      }
    }
  }
};

TEST(ExchangeChooser, TriesWhatCanBeUsedAndExplains) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    Chooser member(party, directory.path(), "auto");
    MUST(member.exchange->freeze());
    const std::string& table = member.exchange->explanation();
    EXPECT_NE(table.find("mapped                "), std::string::npos) << table;
    EXPECT_NE(table.find("us a round"), std::string::npos) << table;
    EXPECT_NE(table.find("mapped alone is enough"), std::string::npos) << table;
    EXPECT_NE(table.find("* " + std::string(member.exchange->method())), std::string::npos) << table;
    member.check_rounds(party.rank(), 3);
  });
}

// Returns costs that predict so many microseconds for each method.
cost::MachineCosts costs_of(const std::string& machine, std::initializer_list<std::pair<const char*, double>> times) {
  cost::MachineCosts costs;
  costs.machine = machine;
  for (const auto& [method, time_us] : times) {
    costs.exchanges.push_back({.method = method, .times = {{{.bytes = 0, .time_s = time_us * 1e-6}}}});
  }
  return costs;
}

std::vector<std::string> methods_in(const std::string& table) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string name : {"mapped ", "two_sided ", "mapped+two_sided "}) {
    std::size_t place = table.find("  " + name);
    if (place == std::string::npos) place = table.find("* " + name);
    if (place != std::string::npos) found.emplace_back(place, name.substr(0, name.size() - 1));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [place, name] : found) names.push_back(std::move(name));
  return names;
}

TEST(ExchangeChooser, TriesMethodsInTheOrderThatTheFirstMemberPredicts) {
  const test::TemporaryDirectory directory;
  const auto first = costs_of("zero", {{"mapped", 7}, {"two_sided", 3}});
  const auto other = costs_of("one", {{"mapped", 1}, {"two_sided", 2}, {"mapped+two_sided", 0.5}});
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    const cost::MachineCosts* const own = party.rank() == 0 ? &first : party.rank() == 1 ? &other : nullptr;
    Chooser member(party, directory.path(), "auto", nullptr, "", own);
    MUST(member.exchange->freeze());
    const std::string& table = member.exchange->explanation();
    EXPECT_EQ(methods_in(table), (std::vector<std::string>{"two_sided", "mapped", "mapped+two_sided"})) << table;
    EXPECT_NE(table.find("in the order of cost file of zero"), std::string::npos) << table;
    EXPECT_NE(table.find("us a round, predicted 3.00 us"), std::string::npos) << table;
    member.check_rounds(party.rank(), 3);
  });
}

TEST(ExchangeChooser, WithoutCostsOfTheFirstMemberTheListDecides) {
  const test::TemporaryDirectory directory;
  const auto other = costs_of("one", {{"two_sided", 1}});
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    Chooser member(party, directory.path(), "auto", nullptr, "", party.rank() == 1 ? &other : nullptr);
    MUST(member.exchange->freeze());
    const std::string& table = member.exchange->explanation();
    EXPECT_EQ(methods_in(table).front(), "mapped") << table;
    EXPECT_NE(table.find("in order of the list"), std::string::npos) << table;
    EXPECT_EQ(table.find("predicted"), std::string::npos) << table;
    member.check_rounds(party.rank(), 2);
  });
}

TEST(ExchangeChooser, APinnedMethodShowsItsPrediction) {
  const test::TemporaryDirectory directory;
  const auto costs = costs_of("zero", {{"mapped", 7}, {"two_sided", 3}});
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    Chooser member(party, directory.path(), "mapped", nullptr, "", &costs);
    MUST(member.exchange->freeze());
    EXPECT_EQ(member.exchange->method(), "mapped");
    EXPECT_NE(member.exchange->explanation().find("predicted 7.00 us"), std::string::npos);
    member.check_rounds(party.rank(), 2);
  });
}

TEST(ExchangeChooser, AMethodCanBePinned) {
  const test::TemporaryDirectory directory;
  for (const std::string name : {"two_sided", "mapped", "mapped+two_sided"}) {  // one alone would be enough
    Parties parties(LaneKind::shm, 2);
    parties.run([&](Party& party) {
      Chooser member(party, directory.path(), name);
      MUST(member.exchange->freeze());
      EXPECT_EQ(member.exchange->method(), name);
      member.check_rounds(party.rank(), 2);
    });
  }
}

TEST(ExchangeChooser, AnUnknownMethodAndADifferentMethodAreErrors) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    {
      Chooser member(party, directory.path(), "telepathy");
      const Status frozen = member.exchange->freeze();
      EXPECT_EQ(frozen.code(), Code::unsupported) << frozen.text();
      EXPECT_NE(frozen.text().find("telepathy"), std::string::npos) << frozen.text();
    }
    Chooser member(party, directory.path(), party.rank() == 0 ? "auto" : "mapped");
    const Status frozen = member.exchange->freeze();
    EXPECT_EQ(frozen.code(), Code::mismatch) << frozen.text();
  });
}

// Delivers wrong contents, and would be the fastest.
class Wrong : public exchange::Method {
 public:
  explicit Wrong(std::span<const exchange::Port> ports) {
    for (const exchange::Port& port : ports) memory_.emplace_back(std::max(port.out_bytes, port.in_bytes));
  }
  [[nodiscard]] std::string_view name() const noexcept override { return "wrong"; }
  Status begin(std::span<const std::uint32_t> /*sending*/, std::span<const std::uint32_t> /*receiving*/) override {
    return {};
  }
  std::byte* outgoing(std::uint32_t port) override { return memory_[port].data(); }
  Status send(std::uint32_t /*port*/, std::uint64_t /*bytes*/) override { return {}; }
  Status all_sent() override { return {}; }
  Status poll() override { return {}; }
  [[nodiscard]] bool has_arrived(std::uint32_t /*port*/) const override { return true; }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t port) const override { return memory_[port]; }
  [[nodiscard]] bool is_complete() const override { return true; }
  Status end() override { return {}; }
  bool before_sleep(exchange::Sleep& /*sleep*/) override { return false; }
  void after_sleep() noexcept override {}
  Result<bool> close() override { return true; }

 private:
  std::vector<std::vector<std::byte>> memory_;
};

class WrongMaker final : public exchange::Maker {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "wrong"; }
  Result<std::unique_ptr<exchange::Method>> make(const exchange::Setting& setting, exchange::Talk& /*talk*/) override {
    return std::unique_ptr<exchange::Method>(std::make_unique<Wrong>(setting.ports));
  }
};

// A method that waits for its neighbours in calls that nothing ends.
class Waits final : public Wrong {
 public:
  using Wrong::Wrong;
  [[nodiscard]] std::string_view name() const noexcept override { return "waits"; }
  [[nodiscard]] bool blocks() const noexcept override { return true; }
};

class WaitsMaker final : public exchange::Maker {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "waits"; }
  Result<std::unique_ptr<exchange::Method>> make(const exchange::Setting& setting, exchange::Talk& /*talk*/) override {
    return std::unique_ptr<exchange::Method>(std::make_unique<Waits>(setting.ports));
  }
};

TEST(ExchangeChooser, AMethodThatWaitsInCallsOfMpiIsLeftOutUnlessItIsAskedFor) {
  const test::TemporaryDirectory directory;
  for (const std::string wanted : {"auto", "waits"}) {
    Parties parties(LaneKind::shm, 2);
    parties.run([&](Party& party) {
      WaitsMaker maker;
      Chooser member(party, directory.path(), wanted, &maker);
      MUST(member.exchange->freeze());
      EXPECT_EQ(member.exchange->method() == "waits", wanted == "waits");
      if (wanted == "waits") return;
      EXPECT_NE(member.exchange->explanation().find("asked for by name"), std::string::npos);
    });
  }
}

TEST(ExchangeChooser, AMethodThatDeliversWrongContentsIsLeftOut) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    WrongMaker wrong;
    Chooser member(party, directory.path(), "auto", &wrong);
    MUST(member.exchange->freeze());
    EXPECT_NE(member.exchange->method(), "wrong");
    EXPECT_NE(member.exchange->explanation().find("is wrong at rank"), std::string::npos)
        << member.exchange->explanation();
    member.check_rounds(party.rank(), 2);
  });
}

// Replaces what the cache remembers by `method`.
void remember(const std::string& path, const std::string& method) {
  std::ifstream file(path);
  std::string title, line;
  std::getline(file, title);
  std::getline(file, line);
  file.close();
  const std::size_t time = line.rfind('\t');
  const std::size_t name = line.rfind('\t', time - 1);
  ASSERT_NE(name, std::string::npos) << line;
  std::ofstream(path) << title << '\n' << line.substr(0, name + 1) << method << "\t5000\n";
}

TEST(ExchangeChooser, RemembersAChoiceAndTriesNoOtherMethod) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/choices";
  for (const std::string remembered : {"", "two_sided", "mapped"}) {
    if (!remembered.empty()) remember(path, remembered);
    Parties parties(LaneKind::shm, 3);
    parties.run([&](Party& party) {  // only the first member has a cache
      Chooser member(party, directory.path(), "auto", nullptr, party.rank() == 0 ? path : "");
      MUST(member.exchange->freeze());
      const std::string& table = member.exchange->explanation();
      if (remembered.empty()) {
        EXPECT_EQ(table.find("stored in " + path) != std::string::npos, party.rank() == 0) << table;
      } else {
        EXPECT_EQ(member.exchange->method(), remembered);
        EXPECT_NE(table.find("remembered in " + path + ": 5.00 us"), std::string::npos) << table;
      }
      member.check_rounds(party.rank(), 3);
    });
  }
}

TEST(ExchangeChooser, ARememberedMethodThatIsWrongOrCannotBeMadeIsNotUsed) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/choices";
  for (const std::string remembered : {"", "wrong", "mapped+two_sided", "telepathy"}) {
    if (!remembered.empty()) remember(path, remembered);
    Parties parties(LaneKind::shm, 2);
    parties.run([&](Party& party) {
      WrongMaker wrong;
      Chooser member(party, directory.path(), "auto", &wrong, path);
      MUST(member.exchange->freeze());
      EXPECT_TRUE(member.exchange->method() == "mapped" || member.exchange->method() == "two_sided");
      member.check_rounds(party.rank(), 2);
    });
  }
}

TEST(ExchangeChooser, ACacheThatCannotBeWrittenIsNoError) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    Chooser member(party, directory.path(), "auto", nullptr, directory.path() + "/none/choices");
    MUST(member.exchange->freeze());
    if (party.rank() != 0) return;
    EXPECT_NE(member.exchange->explanation().find("not stored: "), std::string::npos);
  });
}

// Only the ranks 0 and 1 share memory.
TEST(ExchangeMixed, UsesMemoryWhereItIsSharedAndMessagesElsewhere) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    Chooser member(party, party.rank() < 2 ? directory.path() : directory.path() + "/none", "mapped+two_sided");
    MUST(member.exchange->freeze());
    EXPECT_EQ(member.exchange->method(), "mapped+two_sided");
    member.check_rounds(party.rank(), 3);
  });
}

}  // namespace
}  // namespace couplet::conformance
