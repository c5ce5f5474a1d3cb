#include "coalesce/client_list.hpp"

#include <algorithm>

#include "coalesce/meeting.hpp"

namespace couplet::coalesce {

ClientList::RequestName ClientList::name_of(std::size_t client, const Request& request) {
  const exchange::Edge& edge = request.edge;
  return {client, request.phase, edge.direction, edge.peer, edge.tag};
}

Result<std::size_t> ClientList::add(std::string name, bool hears_arrivals) {
  if (name.empty() || name.size() > max_client_name_bytes) {
    return fail(Code::argument, "the name of a client must have 1 to {} bytes, not {}", max_client_name_bytes,
                name.size());
  }
  if (places_.contains(name)) return fail(Code::exists, "there is a client '{}' already", name);
  if (places_.size() >= max_clients) {
    return fail(Code::limit, "client '{}' is one more than the {} that are possible", name, max_clients);
  }
  places_.emplace(name, clients_.size());
  counts_.push_back({.name = std::move(name)});
  clients_.push_back({.hears_arrivals = hears_arrivals});
  return clients_.size() - 1;
}

Status ClientList::remove(std::size_t client) {
  if (!has(client)) return fail(Code::not_found, "there is no client with the number {}", client);
  clients_[client].is_gone = true;
  places_.erase(counts_[client].name);
  removed_.push_back(client);
  for (const RequestId id : clients_[client].requests) {
    Declared& one = *requests_[id];
    one.is_gone = true;
    request_names_.erase(name_of(client, one.request));
  }
  return {};
}

Result<RequestId> ClientList::add(std::size_t client, Request request) {
  if (!request_names_.insert(name_of(client, request)).second) {
    return fail(Code::exists, "the client has declared it already: give one of the two another tag");
  }
  const auto id = static_cast<RequestId>(requests_.size());
  requests_.push_back(std::make_unique<Declared>(Declared{.client = client, .request = std::move(request)}));
  clients_[client].requests.push_back(id);
  return id;
}

void ClientList::give_back_others(std::span<const std::size_t> plan_clients) {
  for (const std::size_t client : std::exchange(removed_, {})) {
    if (std::find(plan_clients.begin(), plan_clients.end(), client) != plan_clients.end()) {
      removed_.push_back(client);  // it was removed after the amendment
      continue;
    }
    for (const RequestId id : clients_[client].requests) requests_[id].reset();
    clients_[client].requests = {};
    removed_counts_.add(counts_[client]);
    counts_[client].name = {};
    given_back_.push_back(client);
  }
}

std::ptrdiff_t ClientList::place_of(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? -1 : static_cast<std::ptrdiff_t>(found->second);
}

std::vector<std::string> ClientList::names() const {
  std::vector<std::string> names;
  for (std::size_t place = 0; place < clients_.size(); ++place) {
    if (!clients_[place].is_gone) names.push_back(counts_[place].name);
  }
  return names;
}

std::vector<ClientCounts> ClientList::counts() const {
  std::vector<ClientCounts> all = counts_;
  std::erase_if(all, [](const ClientCounts& one) { return one.name.empty(); });
  if (!removed_counts_.name.empty()) all.push_back(removed_counts_);
  return all;
}

}  // namespace couplet::coalesce
