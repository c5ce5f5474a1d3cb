#include "coalesce_case.hpp"

#include <mutex>

namespace couplet::conformance {

void bury_exchange(std::unique_ptr<exchange::Exchange> exchange) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<exchange::Exchange>> buried;
  const std::lock_guard lock(mutex);
  buried.push_back(std::move(exchange));
}

Rank::Rank(Party& one, const std::string& directory, const Options& options, const std::string& name)
    : two_sided_(std::make_unique<exchange::TwoSidedMaker>(*one.messenger)), party(one) {
  coalesce::Surroundings around;
  around.messenger = one.messenger.get();
  around.make_exchange = [this, directory, timeout_s = options.timeout_s,
                          title = fmt::format("coalesce '{}'", name)](const std::string& exchange_name) {
    exchange::Surroundings surroundings;
    surroundings.messenger = party.messenger.get();
    surroundings.engine = party.engine.get();
    surroundings.run_directory = directory;
    surroundings.makers = {&mapped_, two_sided_.get()};
    return exchange::Exchange::create(surroundings, party.group(), exchange_name,
                                      {.timeout_s = timeout_s, .title = title});
  };
  manager = std::make_unique<StepManager>(around, one.group(), name, options);
}

Rank::~Rank() {
  static_cast<void>(manager->close());
  for (auto& exchange : manager->communications().take_unfinished()) bury_exchange(std::move(exchange));
}

std::size_t Rank::add(const std::string& name, Scripted::Stages stages) {
  const auto place = manager->add(std::make_unique<Scripted>(name, std::move(stages)));
  EXPECT_TRUE(place.ok()) << place.status().text();
  return place.ok() ? *place : 0;
}

RequestId Rank::declare(std::size_t client, Direction direction, int peer, std::int64_t tag, void* data,
                        std::uint64_t bytes, Request request) {
  request.edge.direction = direction;
  request.edge.peer = peer;
  request.edge.tag = tag;
  request.edge.regions = {{.memory = static_cast<std::byte*>(data), .run_bytes = bytes}};
  const auto id = manager->communications().add(client, std::move(request));
  EXPECT_TRUE(id.ok()) << id.status().text();
  return id.ok() ? *id : 0;
}

void expect_error(const Status& status, Code code, std::initializer_list<const char*> parts) {
  EXPECT_EQ(status.code(), code) << status.text();
  for (const char* const part : parts) EXPECT_NE(status.text().find(part), std::string::npos) << status.text();
}

}  // namespace couplet::conformance
