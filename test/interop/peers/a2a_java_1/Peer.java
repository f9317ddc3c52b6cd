import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.a2a.client.Client;
import io.a2a.client.ClientEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.http.A2ACardResolver;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfigBuilder;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfigBuilder;
import io.a2a.client.transport.spi.interceptors.auth.AuthInterceptor;
import io.a2a.spec.*;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/** The official a2a-java of A2A 1.0 as a client: one JSON request a line on stdin, one JSON answer a line on stdout. */
public class Peer {
  static final Gson JSON = new Gson();
  static Client streaming;
  static Client blocking;

  /** Takes the one interface of the card that the test is about. */
  static Map<String, Object> connect(JsonObject given) throws Exception {
    // The card has members of 0.3 too unless its version is named.
    AgentCard card =
        io.a2a.A2A.getAgentCard(text(given, "url"), null, Map.of("A2A-Version", text(given, "version")));
    String transport = text(given, "transport");
    AgentInterface wanted =
        card.supportedInterfaces().stream()
            .filter(one -> one.protocolBinding().equals(transport) && one.protocolVersion().equals("1.0"))
            .findFirst()
            .orElseThrow();
    AgentCard narrowed = AgentCard.builder(card).supportedInterfaces(List.of(wanted)).build();
    String token = text(given, "token");
    streaming = client(narrowed, transport, token, ClientConfig.builder().setStreaming(true).build());
    blocking = client(narrowed, transport, token, ClientConfig.builder().setStreaming(false).build());
    return Map.of("name", card.name(), "skills", card.skills().stream().map(AgentSkill::id).toList());
  }

  static String text(JsonObject given, String name) {
    return given.has(name) ? given.get(name).getAsString() : null;
  }

  static Client client(AgentCard card, String transport, String token, ClientConfig config) throws Exception {
    AuthInterceptor auth = new AuthInterceptor((scheme, context) -> token);
    var builder = Client.builder(card).clientConfig(config);
    // Over gRPC this release calls a service of a draft.
    switch (transport) {
      case "HTTP+JSON" ->
          builder.withTransport(RestTransport.class, new RestTransportConfigBuilder().addInterceptor(auth));
      default ->
          builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfigBuilder().addInterceptor(auth));
    }
    return builder.build();
  }

  static Message message(JsonObject given) {
    List<Part<?>> parts = new ArrayList<>();
    parts.add(new TextPart(text(given, "text")));
    JsonObject file = given.getAsJsonObject("file");
    if (file != null) {
      parts.add(new FilePart(new FileWithBytes(text(file, "mediaType"), text(file, "name"), text(file, "base64"))));
    }
    var builder =
        Message.builder().messageId(UUID.randomUUID().toString()).role(Message.Role.ROLE_USER).parts(parts);
    if (given.has("taskId")) builder.taskId(text(given, "taskId"));
    return builder.build();
  }

  static Map<String, Object> view(Task task) {
    StringBuilder text = new StringBuilder();
    List<Object> files = new ArrayList<>();
    List<Artifact> artifacts = task.artifacts() == null ? List.of() : task.artifacts();
    for (Artifact artifact : artifacts) {
      for (Part<?> part : artifact.parts()) {
        if (part instanceof TextPart one) text.append(one.text());
        if (part instanceof FilePart one && one.file() instanceof FileWithBytes file) {
          String name = file.name() == null ? "" : file.name();
          files.add(Map.of("name", name, "mediaType", file.mimeType(), "base64", file.bytes()));
        }
      }
    }
    Message said = task.status().message();
    if (text.isEmpty() && said != null) {
      for (Part<?> part : said.parts()) if (part instanceof TextPart one) text.append(one.text());
    }
    String state = task.status().state().name().replace("TASK_STATE_", "").replace('_', '-').toLowerCase();
    Map<String, Object> shown = new HashMap<>();
    shown.putAll(Map.of("taskId", task.id(), "state", state, "text", text.toString(), "files", files));
    return shown;
  }

  /** The events of a call, until one that is the last. */
  static class Events implements BiConsumer<ClientEvent, AgentCard> {
    final CompletableFuture<Task> end = new CompletableFuture<>();
    final CompletableFuture<String> first = new CompletableFuture<>();
    int count;

    @Override
    public void accept(ClientEvent event, AgentCard card) {
      count += 1;
      Task task = null;
      if (event instanceof TaskEvent one) task = one.getTask();
      if (event instanceof TaskUpdateEvent one) task = one.getTask();
      if (task == null) return;
      first.complete(task.id());
      TaskState state = task.status().state();
      if (state.isFinal() || state == TaskState.TASK_STATE_INPUT_REQUIRED) end.complete(task);
    }

    void fail(Throwable error) {
      // The connection that ends after the last event is reported here too.
      if (error != null) end.completeExceptionally(error);
    }

    Map<String, Object> shown() throws Exception {
      Map<String, Object> shown = view(end.get(20, TimeUnit.SECONDS));
      shown.put("events", count);
      return shown;
    }
  }

  static Map<String, Object> send(JsonObject given) throws Exception {
    // This release cannot ask for `returnImmediately`.
    if (given.has("wait") && !given.get("wait").getAsBoolean()) {
      Events events = new Events();
      streaming.sendMessage(message(given), List.of(events), events::fail, null);
      return Map.of("taskId", events.first.get(20, TimeUnit.SECONDS));
    }
    CompletableFuture<Task> sent = new CompletableFuture<>();
    BiConsumer<ClientEvent, AgentCard> take = (event, card) -> sent.complete(((TaskEvent) event).getTask());
    blocking.sendMessage(message(given), List.of(take), sent::completeExceptionally, null);
    return view(sent.get(20, TimeUnit.SECONDS));
  }

  static Map<String, Object> run(String op, JsonObject given) throws Exception {
    String id = text(given, "taskId");
    switch (op) {
      case "about":
        String path = Client.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        return Map.of("version", path.replaceAll(".*a2a-java-sdk-client-(.*)\\.jar", "$1"));
      case "connect":
        return connect(given);
      case "extended":
        return Map.of("name", blocking.getExtendedAgentCard(null).name());
      case "send":
        return send(given);
      case "stream": {
        Events events = new Events();
        streaming.sendMessage(message(given), List.of(events), events::fail, null);
        return events.shown();
      }
      case "follow": {
        Events events = new Events();
        streaming.subscribeToTask(new TaskIdParams(id), List.of(events), events::fail, null);
        CompletableFuture.anyOf(events.first, events.end).get(20, TimeUnit.SECONDS);
        streaming.cancelTask(new TaskIdParams(id), null);
        return events.shown();
      }
      case "get":
        return view(blocking.getTask(new TaskQueryParams(id), null));
      case "list":
        return Map.of(
            "ids", blocking.listTasks(ListTasksParams.builder().tenant("").build(), null).tasks().stream().map(Task::id).toList());
      case "cancel":
        return view(blocking.cancelTask(new TaskIdParams(id), null));
      case "push": {
        var config = new PushNotificationConfig(text(given, "url"), text(given, "token"), null, "hook");
        blocking.createTaskPushNotificationConfiguration(new TaskPushNotificationConfig(id, config, ""), null);
        var read =
            blocking.getTaskPushNotificationConfiguration(new GetTaskPushNotificationConfigParams(id, "hook"), null);
        return Map.of("url", read.config().url());
      }
      case "pushes":
        return Map.of(
            "ids",
            blocking.listTaskPushNotificationConfigurations(new ListTaskPushNotificationConfigParams(id), null)
                .configs().stream().map(one -> one.config().id()).toList());
      case "unpush":
        blocking.deleteTaskPushNotificationConfigurations(
            new DeleteTaskPushNotificationConfigParams(id, "hook"), null);
        return Map.of();
      default:
        throw new IllegalArgumentException(op);
    }
  }

  /** The names of an error and its causes. */
  static Map<String, Object> told(Throwable error) {
    StringBuilder names = new StringBuilder();
    StringBuilder words = new StringBuilder();
    for (Throwable one = error; one != null; one = one.getCause()) {
      names.append(one.getClass().getSimpleName()).append(' ');
      words.append(one.getMessage()).append("; ");
    }
    return Map.of("error", names.toString(), "message", words.toString());
  }

  public static void main(String[] args) throws Exception {
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonObject given = JsonParser.parseString(line).getAsJsonObject();
      Map<String, Object> answer;
      try {
        answer = run(text(given, "op"), given);
      } catch (Throwable error) {
        answer = told(error);
      }
      System.out.println(JSON.toJson(answer));
    }
    System.exit(0);
  }
}
