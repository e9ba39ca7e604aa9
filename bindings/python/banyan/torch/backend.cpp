// SPDX-License-Identifier: Apache-2.0
// banyan/torch/backend.cpp: the backend in C++, compiled against the user's torch (python -m banyan.torch.build).
//
// torch 2.x gets a c10d::Backend, torch 1.13 a c10d::ProcessGroup; the methods are the same. What is short and frequent
// is done here: collectives on contiguous CPU tensors, straight from the caller's thread where the caller waits for
// the result anyway, else by the group's thread. Everything else (GPU tensors, lists of tensors, send and receive) is done
// by the Python group that this object owns, through the same queue, so that calls keep their order.
//
// The library is met by its C interface alone: its functions are looked up in the file that Python has loaded.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <pybind11/stl.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/extension.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
using Base = c10d::Backend;
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
using Base = c10d::ProcessGroup;
#endif

namespace py = pybind11;

namespace {

using Tensors = std::vector<at::Tensor>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;
using Works = std::vector<WorkPointer>;

// The functions of <banyan/banyan.h> that are called here.
struct Library {
    int (*allreduce)(const void *, void *, size_t, int, int, void *);
    int (*reduce)(const void *, void *, size_t, int, int, int, void *);
    int (*broadcast)(const void *, void *, size_t, int, int, void *);
    int (*all_gather)(const void *, void *, size_t, int, void *);
    int (*reduce_scatter)(const void *, void *, size_t, int, int, void *);
    int (*all_to_all)(const void *, void *, size_t, int, void *);
    int (*barrier)(void *);
    const char *(*last_error)(const void *);

    explicit Library(const std::string &path)
    {
        void *file = dlopen(path.c_str(), RTLD_NOW);

        if (!file)
            throw std::runtime_error(std::string("the library cannot be loaded: ") + dlerror());
        find(file, "banyan_allreduce", allreduce);
        find(file, "banyan_reduce", reduce);
        find(file, "banyan_broadcast", broadcast);
        find(file, "banyan_all_gather", all_gather);
        find(file, "banyan_reduce_scatter", reduce_scatter);
        find(file, "banyan_all_to_all", all_to_all);
        find(file, "banyan_barrier", barrier);
        find(file, "banyan_last_error", last_error);
    }

    template <typename Function> static void find(void *file, const char *name, Function &out)
    {
        out = reinterpret_cast<Function>(dlsym(file, name));
        if (!out)
            throw std::runtime_error(std::string("the library has no ") + name);
    }
};

// Of banyan_datatype, _op and _status.
enum { UINT8 = 1, SUM = 0, MAX = 2, AVG = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6, TIMEOUT = 8, PEER_LOST = 9 };

// How the values of a tensor are combined; type -1: not here.
struct Kind {
    int type, op, width;
};

int op_of(const c10d::ReduceOp &op)
{
    switch (static_cast<c10d::ReduceOp::RedOpType>(op)) {
    case c10d::ReduceOp::SUM:
        return 0;
    case c10d::ReduceOp::PRODUCT:
        return 1;
    case c10d::ReduceOp::MAX:
        return 2;
    case c10d::ReduceOp::MIN:
        return 3;
    case c10d::ReduceOp::AVG:
        return 4;
    default:
        return -1;
    }
}

Kind kind_of(at::ScalarType type, const c10d::ReduceOp &reduce)
{
    int op = op_of(reduce);

    if (op < 0)
        return {-1, 0, 1};
    switch (type) {
    case at::kFloat:
        return {7, op, 1};
    case at::kDouble:
        return {8, op, 1};
    case at::kHalf:
        return {6, op, 1};
    case at::kBFloat16:
        return {9, op, 1};
    case at::kLong:
        return {4, op, 1};
    case at::kInt:
        return {2, op, 1};
    case at::kChar:
        return {0, op, 1};
    case at::kByte:
        return {UINT8, op, 1};
    case at::kComplexFloat:
        return {op == SUM || op == AVG ? 7 : -1, op, 2};
    case at::kComplexDouble:
        return {op == SUM || op == AVG ? 8 : -1, op, 2};
    default:
        return {-1, 0, 1};
    }
}

bool is_plain(const at::Tensor &tensor)
{
    return tensor.device().is_cpu() && tensor.layout() == at::kStrided && tensor.is_contiguous();
}

size_t bytes_of(const at::Tensor &tensor)
{
    return static_cast<size_t>(tensor.numel()) * tensor.element_size();
}

// Whether the caller waits for the call anyway, as newer versions of torch say.
template <typename Options, typename = void> struct WaitsFor {
    static bool ask(const Options &) { return false; }
};
template <typename Options> struct WaitsFor<Options, std::void_t<decltype(Options::asyncOp)>> {
    static bool ask(const Options &options) { return !options.asyncOp; }
};
template <typename Options> bool waits_for(const Options &options)
{
    return WaitsFor<Options>::ask(options);
}

#if TORCH_VERSION_MAJOR >= 2
// Whether this version splits a group by a store of the new one, and what its options call the new group.
template <typename T, typename = void> struct SplitsByStore : std::false_type {
};
template <typename T>
struct SplitsByStore<T, std::void_t<decltype(std::declval<T &>().split(
                            std::declval<const c10::intrusive_ptr<c10d::Store> &>(),
                            std::declval<const std::vector<int> &>(),
                            std::declval<const c10::intrusive_ptr<typename T::Options> &>()))>> : std::true_type {
};
template <typename Options, typename = void> struct NameOf {
    static std::string ask(const Options &) { return ""; }
};
template <typename Options> struct NameOf<Options, std::void_t<decltype(Options::group_name)>> {
    static std::string ask(const Options &options) { return options.group_name; }
};
#endif

std::vector<c10::Device> devices_of(const Tensors &tensors)
{
    std::vector<c10::Device> found;

    for (const auto &tensor : tensors)
        if (tensor.device().is_cuda() && std::find(found.begin(), found.end(), tensor.device()) == found.end())
            found.push_back(tensor.device());
    return found;
}

class Call : public c10d::Work {
public:
    Call(int rank, c10d::OpType type, Tensors outputs)
        : Work(rank, type), outputs_(std::move(outputs)),
          future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                           devices_of(outputs_)))
    {
    }

    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

    Tensors result() override { return outputs_; }

    // In milliseconds, once it is done. Virtual in torch 2.
    float getDuration() const { return duration_ms_; }

    void run(const std::function<void()> &function)
    {
        auto begun = std::chrono::steady_clock::now();
        std::exception_ptr error;

        try {
            function();
        } catch (...) {
            error = std::current_exception();
        }
        duration_ms_ = std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begun).count();
        finish(error);
        if (error)
            future_->setError(error);
        else
            future_->markCompleted(c10::IValue(outputs_));
    }

private:
    Tensors outputs_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
    std::atomic<float> duration_ms_{0};
};

int64_t now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// What the flight recorder (recorder.py) tells of a call that was made here; times are 0 until they are known.
struct Record {
    const char *name;
    uint64_t sequence;
    std::vector<std::pair<std::vector<int64_t>, std::string>> tensors; // the input, the output
    int64_t created_ns, started_ns, completed_ns;
    uint64_t thread;
};

// The last records of a queue. A record is found again by its sequence, unless others have taken its place.
class Records {
public:
    explicit Records(size_t kept) : ring_(kept) {}

    void add(const char *name, uint64_t sequence, const Tensors &tensors)
    {
        std::lock_guard<std::mutex> lock(mutex_);

        if (ring_.empty())
            return;
        Record &record = ring_[next_++ % ring_.size()];

        record = {name, sequence, {}, now_ns(), 0, 0, static_cast<uint64_t>(pthread_self())};
        for (const auto &tensor : tensors)
            record.tensors.emplace_back(tensor.sizes().vec(), c10::toString(tensor.scalar_type()));
    }

    void start(uint64_t sequence) { set(sequence, &Record::started_ns); }

    void complete(uint64_t sequence) { set(sequence, &Record::completed_ns); }

    py::list list()
    {
        py::list found;
        std::lock_guard<std::mutex> lock(mutex_);

        for (const Record &record : ring_)
            if (record.name)
                found.append(py::make_tuple(record.name, record.sequence, record.tensors, record.created_ns,
                                            record.started_ns, record.completed_ns, record.thread));
        return found;
    }

private:
    void set(uint64_t sequence, int64_t Record::*time)
    {
        std::lock_guard<std::mutex> lock(mutex_);

        for (size_t back = 1; back <= ring_.size() && back <= next_; back++) {
            Record &record = ring_[(next_ - back) % ring_.size()];

            if (record.sequence == sequence)
                record.*time = now_ns();
            if (record.sequence <= sequence)
                return;
        }
    }

    std::mutex mutex_;
    std::vector<Record> ring_;
    size_t next_ = 0;
};

// The threads of all queues. Python ends a thread that asks for its lock while the interpreter shuts down, and in the
// middle of torch's C++ that aborts the process: so the interpreter waits for them before.
class Threads {
public:
    template <typename Function> void start(Function function)
    {
        std::lock_guard<std::mutex> lock(mutex_);

        std::thread([this, function = std::move(function)]() mutable {
            function();
            std::lock_guard<std::mutex> ended(mutex_);

            running_--;
            changed_.notify_all();
        }).detach();
        running_++;
    }

    void wait_for_all(double seconds)
    {
        std::unique_lock<std::mutex> lock(mutex_);

        changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return !running_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int running_ = 0;
};

Threads &threads()
{
    static Threads *made = new Threads; // for ever: threads that a stuck call holds outlive all that is static

    return *made;
}

// The calls of one communicator, one after the other.
class Queue : public std::enable_shared_from_this<Queue> {
public:
    Queue(int rank, size_t kept) : records(kept), rank_(rank) {}

    uint64_t next_sequence() { return ++sequence_; }

    uint64_t sequence() const { return sequence_; }

    Records records;
    std::atomic<bool> uses_streams{false}; // the last call was on CUDA tensors, which the Python group has put on a stream

    c10::intrusive_ptr<Call> push(c10d::OpType type, Tensors outputs, std::function<void()> function,
                                  bool is_python)
    {
        auto call = c10::make_intrusive<Call>(rank_, type, std::move(outputs));
        std::lock_guard<std::mutex> lock(mutex_);

        if (is_ending_)
            throw std::runtime_error("the process group has been destroyed");
        if (!is_serving_)
            threads().start([self = shared_from_this()] { self->serve(); });
        is_serving_ = true;
        waiting_.push_back({call, std::move(function), is_python});
        changed_.notify_all();
        return call;
    }

    // In the caller's thread, where nothing is before it; else it has to wait in the queue like all others.
    c10::intrusive_ptr<Call> run_now(c10d::OpType type, Tensors outputs, std::function<void()> function)
    {
        bool is_inline;
        {
            std::lock_guard<std::mutex> lock(mutex_);

            if (is_ending_)
                throw std::runtime_error("the process group has been destroyed");
            is_inline = !is_busy_ && waiting_.empty();
            is_busy_ |= is_inline;
        }
        if (!is_inline)
            return push(type, std::move(outputs), std::move(function), false);
        auto call = c10::make_intrusive<Call>(rank_, type, std::move(outputs));

        call->run(function);
        {
            std::lock_guard<std::mutex> lock(mutex_);

            is_busy_ = false;
        }
        changed_.notify_all();
        return call;
    }

    bool is_busy()
    {
        std::lock_guard<std::mutex> lock(mutex_);

        return is_busy_ || !waiting_.empty();
    }

    // For all calls that have been made.
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);

        changed_.wait(lock, [this] { return !is_busy_ && waiting_.empty(); });
    }

    // No more calls; waits for those that are there, or ends those that have not begun.
    void stop(bool wait)
    {
        std::deque<Entry> dropped;
        {
            std::lock_guard<std::mutex> lock(mutex_);

            is_ending_ = true;
            if (!wait)
                dropped.swap(waiting_);
            changed_.notify_all();
        }
        for (auto &entry : dropped) {
            entry.call->run([] { throw std::runtime_error("the process group has been destroyed"); });
            if (entry.is_python) {
                py::gil_scoped_acquire held;

                entry.function = nullptr;
            }
        }
        std::unique_lock<std::mutex> lock(mutex_);

        while (wait && is_serving_ && server_ != std::this_thread::get_id())
            changed_.wait(lock);
    }

private:
    struct Entry {
        c10::intrusive_ptr<Call> call;
        std::function<void()> function;
        bool is_python;
    };

    static void run(Entry &entry)
    {
        if (!entry.is_python) {
            entry.call->run(entry.function);
            return;
        }
        py::gil_scoped_acquire lock;

        entry.call->run(entry.function);
        entry.function = nullptr;
        entry.call.reset();
    }

    void serve()
    {
        std::unique_lock<std::mutex> lock(mutex_);

        server_ = std::this_thread::get_id();
        for (;;) {
            changed_.wait(lock, [this] { return !is_busy_ && (is_ending_ || !waiting_.empty()); });
            if (waiting_.empty())
                break;
            Entry entry = std::move(waiting_.front());

            waiting_.pop_front();
            is_busy_ = true;
            lock.unlock();
            run(entry);
            entry = {};
            lock.lock();
            is_busy_ = false;
            if (waiting_.empty())
                changed_.notify_all();
        }
        is_serving_ = false;
        changed_.notify_all();
    }

    const int rank_;
    std::atomic<uint64_t> sequence_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Entry> waiting_;
    std::thread::id server_;
    bool is_busy_ = false, is_ending_ = false, is_serving_ = false;
};

#if TORCH_VERSION_MAJOR >= 2
// What torch copies to make a group out of this one.
struct BanyanOptions : Base::Options {
    explicit BanyanOptions(std::chrono::milliseconds timeout) : Base::Options("banyan", timeout) {}
};
#endif

class BanyanBackend : public Base {
public:
    BanyanBackend(py::object python, std::uintptr_t comm, int rank, int size, const std::string &library,
                  std::shared_ptr<Queue> queue)
        : Base(rank, size), python_(std::move(python)), comm_(reinterpret_cast<void *>(comm)), library_(library),
          queue_(std::move(queue))
    {
    }

    ~BanyanBackend() override
    {
        queue_->stop(false);
        if (!Py_IsInitialized()) { // torch's own tables may outlive Python
            python_.release();
            return;
        }
        py::gil_scoped_acquire lock;

        python_.release().dec_ref(); // under the lock, which the members' own destructors would be without
    }

    const std::string getBackendName() const override { return "banyan"; }

    py::object python() const { return python_; }

    WorkPointer allreduce(Tensors &tensors, const c10d::AllreduceOptions &options) override
    {
        if (tensors.size() != 1 || !is_plain(tensors[0]))
            return ask("allreduce", tensors, options);
        Kind kind = kind_of(tensors[0].scalar_type(), options.reduceOp);

        if (kind.type < 0)
            return ask("allreduce", tensors, options);
        at::Tensor tensor = tensors[0];

        return start(c10d::OpType::ALLREDUCE, "all_reduce", tensors, waits_for(options), [=] {
            check(library_.allreduce(tensor.data_ptr(), tensor.data_ptr(),
                                     static_cast<size_t>(tensor.numel() * kind.width), kind.type, kind.op, comm_));
        });
    }

    // The Python group refuses them, and says so.
    WorkPointer allreduce_sparse(Tensors &tensors, const c10d::AllreduceOptions &options)
    {
        return ask("allreduce", tensors, options);
    }

    WorkPointer allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &options) override
    {
        return ask("allreduce_coalesced", tensors, options);
    }

    WorkPointer reduce(Tensors &tensors, const c10d::ReduceOptions &options) override
    {
        return ask("reduce", tensors, options);
    }

    WorkPointer broadcast(Tensors &tensors, const c10d::BroadcastOptions &options) override
    {
        if (tensors.size() != 1 || !is_plain(tensors[0]))
            return ask("broadcast", tensors, options);
        at::Tensor tensor = tensors[0];
        int root = static_cast<int>(options.rootRank);

        return start(c10d::OpType::BROADCAST, "broadcast", tensors, waits_for(options), [=] {
            check(library_.broadcast(tensor.data_ptr(), tensor.data_ptr(), bytes_of(tensor), UINT8, root, comm_));
        });
    }

    WorkPointer _allgather_base(at::Tensor &output, at::Tensor &input,
                                const c10d::AllgatherOptions &options) override
    {
        if (!is_plain(output) || !is_plain(input) ||
            bytes_of(output) != bytes_of(input) * static_cast<size_t>(getSize()))
            return ask("_allgather_base", output, input, options);
        at::Tensor into = output, from = input;

        return start(c10d::OpType::_ALLGATHER_BASE, "_all_gather_base", {input, output}, waits_for(options), [=] {
            check(library_.all_gather(from.data_ptr(), into.data_ptr(), bytes_of(from), UINT8, comm_));
        });
    }

    WorkPointer _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                     const c10d::ReduceScatterOptions &options) override
    {
        Kind kind = kind_of(input.scalar_type(), options.reduceOp);

        if (!is_plain(output) || !is_plain(input) || kind.type < 0 ||
            input.numel() != output.numel() * getSize() || output.scalar_type() != input.scalar_type())
            return ask("_reduce_scatter_base", output, input, options);
        at::Tensor into = output, from = input;

        return start(c10d::OpType::_REDUCE_SCATTER_BASE, "_reduce_scatter_base", {input, output}, waits_for(options), [=] {
            check(library_.reduce_scatter(from.data_ptr(), into.data_ptr(),
                                          static_cast<size_t>(into.numel() * kind.width), kind.type, kind.op,
                                          comm_));
        });
    }

    WorkPointer alltoall_base(at::Tensor &output, at::Tensor &input, std::vector<int64_t> &output_splits,
                              std::vector<int64_t> &input_splits, const c10d::AllToAllOptions &options) override
    {
        size_t ranks = static_cast<size_t>(getSize());

        if (!output_splits.empty() || !input_splits.empty() || !is_plain(output) || !is_plain(input) ||
            bytes_of(output) != bytes_of(input) || input.dim() == 0 || input.size(0) % getSize())
            return ask("alltoall_base", output, input, output_splits, input_splits, options);
        at::Tensor into = output, from = input;

        return start(c10d::OpType::ALLTOALL_BASE, "all_to_all", {input, output}, waits_for(options), [=] {
            check(library_.all_to_all(from.data_ptr(), into.data_ptr(), bytes_of(from) / ranks, UINT8, comm_));
        });
    }

    WorkPointer barrier(const c10d::BarrierOptions &options) override
    {
        return start(c10d::OpType::BARRIER, "all_reduce_barrier", {}, waits_for(options), [=] { check(library_.barrier(comm_)); });
    }

    // What the Python group does.

    WorkPointer allgather(std::vector<Tensors> &outputs, Tensors &inputs,
                          const c10d::AllgatherOptions &options) override
    {
        return ask("allgather", outputs, inputs, options);
    }

    WorkPointer allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
                                    const c10d::AllgatherOptions &options) override
    {
        return ask("allgather_coalesced", outputs, inputs, options);
    }

    WorkPointer gather(std::vector<Tensors> &outputs, Tensors &inputs,
                       const c10d::GatherOptions &options) override
    {
        return ask("gather", outputs, inputs, options);
    }

    WorkPointer scatter(Tensors &outputs, std::vector<Tensors> &inputs,
                        const c10d::ScatterOptions &options) override
    {
        return ask("scatter", outputs, inputs, options);
    }

    WorkPointer reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
                               const c10d::ReduceScatterOptions &options) override
    {
        return ask("reduce_scatter", outputs, inputs, options);
    }

    WorkPointer alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &options) override
    {
        return ask("alltoall", outputs, inputs, options);
    }

    WorkPointer send(Tensors &tensors, int target, int tag) override { return ask("send", tensors, target, tag); }

    WorkPointer recv(Tensors &tensors, int source, int tag) override { return ask("recv", tensors, source, tag); }

    WorkPointer recvAnysource(Tensors &tensors, int tag) override { return ask("recv_anysource", tensors, tag); }

    void monitoredBarrier(const c10d::BarrierOptions &options, bool names_all) override
    {
        py::gil_scoped_acquire lock;
        double seconds = std::chrono::duration<double>(options.timeout).count();

        python_.attr("monitored_barrier")(seconds < 0 ? py::none() : py::object(py::float_(seconds)), names_all);
    }

    void setSequenceNumberForGroup() override {} // it begins with 0 everywhere

    uint64_t getSequenceNumberForGroup() override { return queue_->sequence(); }

#if TORCH_VERSION_MAJOR >= 2
    WorkPointer allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                const c10d::AllgatherOptions &options) override
    {
        Works works;

        for (size_t i = 0; i < outputs.size(); i++)
            works.push_back(_allgather_base(outputs[i], inputs[i], options));
        return combine(works);
    }

    WorkPointer reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                const c10d::ReduceScatterOptions &options) override
    {
        Works works;

        for (size_t i = 0; i < outputs.size(); i++)
            works.push_back(_reduce_scatter_base(outputs[i], inputs[i], options));
        return combine(works);
    }

    // Calls are made at once anyway; what ends them is done when all are, by whichever thread or stream.
    void startCoalescing() override { coalesced_.emplace(); }

    WorkPointer endCoalescing() override
    {
        Works works = std::move(coalesced_).value_or(Works());

        coalesced_.reset();
        return combine(works);
    }

    // Virtual in the versions that know them: shrinking and setTimeout from 2.10 on.
    bool supportsCoalescing() const { return true; }

    void enableCollectivesTiming() {} // all calls are timed

    void waitForPendingWorks()
    {
        std::optional<py::gil_scoped_release> released;

        if (PyGILState_Check()) // the calls may need it
            released.emplace();
        queue_->wait();
    }

    void setTimeout(std::chrono::milliseconds timeout)
    {
        py::gil_scoped_acquire lock;

        python_.attr("set_timeout")(std::chrono::duration<double>(timeout).count());
    }

    // A new object: torch writes the name and the time-out of the new group into it.
    c10::intrusive_ptr<Options> getBackendOptions()
    {
        py::gil_scoped_acquire lock;

        return c10::make_intrusive<BanyanOptions>(
            std::chrono::milliseconds(python_.attr("timeout_ms").cast<int64_t>()));
    }

    bool supportsSplitting() const { return SplitsByStore<c10d::Backend>::value; }

    // A group of these of our ranks, which alone call this; nullptr on all others.
    c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store> &store,
                                            const std::vector<int> &ranks,
                                            const c10::intrusive_ptr<Options> &options)
    {
        return make_once(store, [&] {
            return python_.attr("split")(store, ranks, time_of(options), name_of(options));
        });
    }

    // A group with ranks of others, all of whom call this.
    c10::intrusive_ptr<c10d::Backend> merge(const c10::intrusive_ptr<c10d::Store> &store,
                                            const c10::intrusive_ptr<Options> &options, const int &rank,
                                            const int &size)
    {
        return make_once(store, [&] {
            return python_.attr("merge")(store, rank, size, time_of(options), name_of(options));
        });
    }

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 8
    c10d::ErrorType getError() override
    {
        py::gil_scoped_acquire lock;

        switch (python_.attr("find_status")().cast<int>()) {
        case 0:
            return c10d::ErrorType::SUCCESS;
        case TIMEOUT:
            return c10d::ErrorType::TIMEOUT;
        case REMOTE_ERROR:
        case PEER_LOST:
            return c10d::ErrorType::REMOTE_ERROR;
        default:
            return c10d::ErrorType::COMM_ERROR;
        }
    }
#endif

    bool supportsShrinking() const { return true; }

    c10::intrusive_ptr<c10d::Backend> shrink(const std::vector<int64_t> &ranks, int flags,
                                             const c10::intrusive_ptr<Options> &options)
    {
        py::gil_scoped_acquire lock;
        py::object without = python_.attr("shrink")(ranks, flags, time_of(options));

        return without.cast<c10::intrusive_ptr<BanyanBackend>>();
    }

#ifdef C10D_BACKEND_HAS_RECONFIGURE
    bool supportsReconfigure() const override { return true; }

    c10d::ReconfigureHandle get_reconfigure_handle() const override
    {
        py::gil_scoped_acquire lock;

        return python_.attr("get_reconfigure_handle")().cast<std::string>();
    }

    // Its members are others afterwards, and so may be its own rank; torch asks this object for both.
    WorkPointer reconfigure(const c10d::ReconfigureOptions &options) override
    {
        py::gil_scoped_acquire lock;
        WorkPointer work = python_.attr("reconfigure")(options).cast<WorkPointer>();
        py::object comm = python_.attr("communicator");

        comm_ = reinterpret_cast<void *>(comm.attr("handle").attr("value").cast<std::uintptr_t>());
        rank_ = comm.attr("rank").cast<int>();
        size_ = comm.attr("size").cast<int>();
        return work;
    }
#endif

    void abort() { ask_nothing("abort"); }

    void shutdown() { ask_nothing("shutdown"); }
#endif

private:
#if TORCH_VERSION_MAJOR >= 2
    // The time-out that options ask for, as a Python object with that attribute; None: none were given.
    static py::object time_of(const c10::intrusive_ptr<Options> &options)
    {
        if (!options)
            return py::none();
        return py::module_::import("types").attr("SimpleNamespace")(
            py::arg("timeout") = std::chrono::duration<double>(options->timeout).count());
    }

    static std::string name_of(const c10::intrusive_ptr<Options> &options)
    {
        return options ? NameOf<Options>::ask(*options) : "";
    }

    // torch asks for a new group once for each type of device, with the same store; the ranks meet there once.
    template <typename Make>
    c10::intrusive_ptr<c10d::Backend> make_once(const c10::intrusive_ptr<c10d::Store> &store, const Make &make)
    {
        py::gil_scoped_acquire lock;
        auto last = made_ ? made_->lock() : c10::intrusive_ptr<c10d::Backend>();

        if (last && made_in_->lock() == store)
            return last;
        py::object group = make();

        if (group.is_none())
            return {};
        last = group.cast<c10::intrusive_ptr<BanyanBackend>>();
        made_.emplace(last);
        made_in_.emplace(store);
        return last;
    }

    std::optional<c10::weak_intrusive_ptr<c10d::Backend>> made_; // the last one, and where its ranks met
    std::optional<c10::weak_intrusive_ptr<c10d::Store>> made_in_;
#endif

    void check(int status) const
    {
        if (status && !comm_)
            raise(INVALID_USAGE, "the process group has no members before reconfigure() has named them");
        if (status)
            raise(status, library_.last_error(comm_));
    }

    // The exception of banyan.errors that belongs to the status.
    void raise(int status, const char *sentence) const
    {
        py::gil_scoped_acquire lock;

        python_.attr("note_failure")();
        py::object error = py::module_::import("banyan.errors").attr("error_of")(status, sentence);

        PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())), error.ptr());
        throw py::error_already_set();
    }

    // name: what the flight recorder knows the call by. tensors: what it reads and what it fills.
    WorkPointer start(c10d::OpType type, const char *name, const Tensors &tensors, bool is_waited_for,
                      std::function<void()> function)
    {
        if (queue_->uses_streams)
            ask_nothing("leave_streams");
        uint64_t sequence = queue_->next_sequence();
        Queue *queue = queue_.get(); // whose thread or caller runs the function
        Tensors outputs;
        auto timed = [queue, sequence, function = std::move(function)] {
            queue->records.start(sequence);
            function();
            queue->records.complete(sequence);
        };

        if (!tensors.empty())
            outputs.push_back(tensors.back());
        queue_->records.add(name, sequence, tensors);
        if (is_waited_for)
            return keep(queue_->run_now(type, std::move(outputs), std::move(timed)));
        return keep(queue_->push(type, std::move(outputs), std::move(timed), false));
    }

    WorkPointer keep(WorkPointer work)
    {
        if (coalesced_)
            coalesced_->push_back(work);
        return work;
    }

    static WorkPointer combine(const Works &works)
    {
        py::gil_scoped_acquire lock;

        return py::module_::import("banyan.torch.work").attr("CombinedWork")(works).cast<WorkPointer>();
    }

    // The method of the Python group. Torch holds no lock of Python here, or it does: both are fine.
    template <typename... Arguments> WorkPointer ask(const char *name, Arguments &&...arguments)
    {
        py::gil_scoped_acquire lock;

        return keep(python_.attr(name)(std::forward<Arguments>(arguments)...).template cast<WorkPointer>());
    }

    void ask_nothing(const char *name)
    {
        py::gil_scoped_acquire lock;

        python_.attr(name)();
    }

    py::object python_;
    void *comm_;
    Library library_;
    std::shared_ptr<Queue> queue_;
    std::optional<Works> coalesced_; // between startCoalescing() and endCoalescing()
};

// Everything that a Python call fills, as one list.
void collect(const py::handle &outputs, Tensors &out)
{
    if (THPVariable_Check(outputs.ptr()))
        out.push_back(outputs.cast<at::Tensor>());
    else if (py::isinstance<py::list>(outputs) || py::isinstance<py::tuple>(outputs))
        for (const auto &one : outputs)
            collect(one, out);
}

// What bindings/python/banyan/torch/readiness.py is in Python: its methods are described there.
class Readiness : public std::enable_shared_from_this<Readiness> {
public:
    explicit Readiness(std::uintptr_t tell) : tell_(reinterpret_cast<Tell>(tell)) {}

    ~Readiness() // where a hook held the last reference, nobody holds Python's lock
    {
        py::gil_scoped_acquire lock;

        fetch_ = py::object();
    }

    void watch(const Tensors &parameters)
    {
        for (const at::Tensor &parameter : parameters) {
            nodes_.push_back(torch::autograd::impl::grad_accumulator(parameter));
            nodes_.back()->add_post_hook(std::make_unique<Hook>(weak_from_this(), nodes_.size() - 1));
        }
    }

    void plan(std::vector<int> unit_of, std::vector<int> bucket_of, std::vector<std::uintptr_t> addresses,
              std::uintptr_t handle, Tensors divided, int divisor, py::object fetch)
    {
        std::lock_guard<std::mutex> lock(mutex_);

        unit_of_ = std::move(unit_of);
        bucket_of_ = std::move(bucket_of);
        addresses_ = std::move(addresses);
        handle_ = reinterpret_cast<void *>(handle);
        divided_ = std::move(divided);
        divisor_ = divisor;
        fetch_ = std::move(fetch);
        clear();
    }

    void reset()
    {
        std::lock_guard<std::mutex> lock(mutex_);

        clear();
    }

    // The hooks stay, and look at one flag.
    void stop()
    {
        is_armed = false;
        plan({}, {}, {}, 0, {}, 1, py::none());
    }

    int missing(size_t bucket)
    {
        std::lock_guard<std::mutex> lock(mutex_);

        return in_bucket_.at(bucket);
    }

    void note(size_t number)
    {
        int unit;
        {
            std::lock_guard<std::mutex> lock(mutex_);

            if (is_there_.at(number) || status)
                return;
            is_there_[number] = 1;
            unit = unit_of_[number];
            if (!divided_.empty())
                divided_[number].div_(divisor_);
            in_bucket_[static_cast<size_t>(bucket_of_[static_cast<size_t>(unit)])]--;
            if (--missing_[static_cast<size_t>(unit)])
                return;
        }
        if (!has_fetch()) {
            status = tell_(handle_, unit, reinterpret_cast<void *>(addresses_[static_cast<size_t>(unit)]));
            return;
        }
        py::gil_scoped_acquire lock;

        fetch_(unit);
    }

    std::atomic<bool> is_armed{false};
    std::atomic<int> status{0};

private:
    using Tell = int (*)(void *, int, void *);

    struct Hook : torch::autograd::FunctionPostHook {
        Hook(std::weak_ptr<Readiness> readiness, size_t number) : readiness_(std::move(readiness)), number_(number) {}

        torch::autograd::variable_list operator()(const torch::autograd::variable_list &outputs,
                                                  const torch::autograd::variable_list &) override
        {
            auto readiness = readiness_.lock();

            if (readiness && readiness->is_armed)
                readiness->note(number_);
            return outputs;
        }

        std::weak_ptr<Readiness> readiness_;
        size_t number_;
    };

    bool has_fetch() const { return fetch_.ptr() && fetch_.ptr() != Py_None; }

    void clear()
    {
        size_t buckets = bucket_of_.empty() ? 0 : 1 + *std::max_element(bucket_of_.begin(), bucket_of_.end());

        is_there_.assign(unit_of_.size(), 0);
        missing_.assign(bucket_of_.size(), 0);
        in_bucket_.assign(buckets, 0);
        for (int unit : unit_of_) {
            missing_[static_cast<size_t>(unit)]++;
            in_bucket_[static_cast<size_t>(bucket_of_[static_cast<size_t>(unit)])]++;
        }
    }

    Tell tell_;
    std::mutex mutex_;
    std::vector<std::shared_ptr<torch::autograd::Node>> nodes_;
    std::vector<int> unit_of_, bucket_of_, missing_, in_bucket_;
    std::vector<char> is_there_;
    std::vector<std::uintptr_t> addresses_;
    void *handle_ = nullptr;
    Tensors divided_;
    int divisor_ = 1;
    py::object fetch_;
};

WorkPointer submit(Queue &queue, py::object call, const py::object &outputs)
{
    Tensors tensors;

    collect(outputs, tensors);
    // The last reference to the function is given up in the queue's thread, under Python's lock.
    auto held = std::make_shared<py::object>(std::move(call));

    return queue.push(c10d::OpType::UNKNOWN, std::move(tensors),
                      [held]() mutable {
                          auto function = std::move(held);

                          (*function)();
                      },
                      true);
}

} // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module)
{
    module.def(
        "wait_for_threads", [](double seconds) { threads().wait_for_all(seconds); },
        py::call_guard<py::gil_scoped_release>());
    py::class_<Queue, std::shared_ptr<Queue>>(module, "Queue")
        .def(py::init<int, size_t>())
        .def("submit", &submit)
        .def("next_sequence", &Queue::next_sequence)
        .def_property_readonly("sequence", &Queue::sequence)
        .def_property(
            "uses_streams", [](const Queue &queue) { return queue.uses_streams.load(); },
            [](Queue &queue, bool value) { queue.uses_streams = value; })
        .def("records", [](Queue &queue) { return queue.records.list(); })
        .def("is_busy", &Queue::is_busy, py::call_guard<py::gil_scoped_release>())
        .def("stop", &Queue::stop, py::call_guard<py::gil_scoped_release>());
    py::class_<Readiness, std::shared_ptr<Readiness>>(module, "Readiness")
        .def(py::init([](const Tensors &parameters, std::uintptr_t tell) {
            auto made = std::make_shared<Readiness>(tell);

            made->watch(parameters);
            return made;
        }))
        .def_property(
            "is_armed", [](const Readiness &readiness) { return readiness.is_armed.load(); },
            [](Readiness &readiness, bool value) { readiness.is_armed = value; })
        .def_property_readonly("status", [](const Readiness &readiness) { return readiness.status.load(); })
        .def("plan", &Readiness::plan)
        .def("stop", &Readiness::stop)
        .def("reset", &Readiness::reset)
        .def("missing", &Readiness::missing)
        .def("note", &Readiness::note);
#if TORCH_VERSION_MAJOR >= 2
    auto copy = [](const BanyanOptions &options) { return c10::make_intrusive<BanyanOptions>(options); };

    py::class_<BanyanOptions, c10::intrusive_ptr<BanyanOptions>, Base::Options>(module, "BanyanOptions")
        .def("__copy__", copy)
        .def("__deepcopy__", [copy](const BanyanOptions &options, const py::dict &) { return copy(options); });
#endif
    py::class_<BanyanBackend, c10::intrusive_ptr<BanyanBackend>, Base>(module, "BanyanBackend")
        .def(py::init([](py::object python, std::uintptr_t comm, int rank, int size, const std::string &library,
                         std::shared_ptr<Queue> queue) {
            return c10::make_intrusive<BanyanBackend>(std::move(python), comm, rank, size, library,
                                                      std::move(queue));
        }))
        // What torch calls on ranks that are in no new group: only members take part.
        .def("perform_nocolor_split", [](BanyanBackend &, const py::object &) {})
#if TORCH_VERSION_MAJOR >= 2
        .def_property_readonly("options", &BanyanBackend::getBackendOptions)
#endif
        .def_property_readonly("python", &BanyanBackend::python);
}
