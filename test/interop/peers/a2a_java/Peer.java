import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.a2a.client.Client;
import io.a2a.client.ClientEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.http.A2ACardResolver;
import io.a2a.client.transport.grpc.GrpcTransport;
import io.a2a.client.transport.grpc.GrpcTransportConfigBuilder;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfigBuilder;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfigBuilder;
import io.a2a.client.transport.spi.interceptors.auth.AuthInterceptor;
import io.a2a.spec.*;
import io.grpc.ManagedChannelBuilder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/** The official a2a-java as a client, and the starter of its server: one JSON request a line on stdin, one JSON answer a line on stdout. */
public class Peer {
  static final ObjectMapper JSON = new ObjectMapper();
  static Client streaming;
  static Client blocking;
  static Client immediate;

  /** Takes the one interface of the card that the test is about. */
  static Map<String, Object> connect(JsonNode given) throws Exception {
    AgentCard card = new A2ACardResolver(given.get("url").asText()).getAgentCard();
    String transport = given.get("transport").asText();
    String address =
        card.additionalInterfaces().stream()
            .filter(one -> one.transport().equals(transport))
            .findFirst()
            .orElseThrow()
            .url();
    AgentCard wanted =
        new AgentCard.Builder(card)
            .url(address)
            .preferredTransport(transport)
            .additionalInterfaces(List.of())
            .build();
    String token = given.get("token").asText();
    streaming = client(wanted, transport, token, new ClientConfig.Builder().setStreaming(true).build());
    blocking = client(wanted, transport, token, new ClientConfig.Builder().setStreaming(false).build());
    immediate =
        client(wanted, transport, token, new ClientConfig.Builder().setStreaming(false).setPolling(true).build());
    return Map.of("name", card.name(), "skills", card.skills().stream().map(AgentSkill::id).toList());
  }

  static Client client(AgentCard card, String transport, String token, ClientConfig config) throws Exception {
    AuthInterceptor auth = new AuthInterceptor((scheme, context) -> token);
    var builder = Client.builder(card).clientConfig(config);
    switch (transport) {
      case "GRPC" ->
          builder.withTransport(
              GrpcTransport.class,
              new GrpcTransportConfigBuilder()
                  .channelFactory(url -> ManagedChannelBuilder.forTarget(url).usePlaintext().build())
                  .addInterceptor(auth));
      case "HTTP+JSON" ->
          builder.withTransport(RestTransport.class, new RestTransportConfigBuilder().addInterceptor(auth));
      default ->
          builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfigBuilder().addInterceptor(auth));
    }
    return builder.build();
  }

  static Message message(JsonNode given) {
    List<Part<?>> parts = new ArrayList<>();
    parts.add(new TextPart(given.get("text").asText()));
    JsonNode file = given.get("file");
    if (file != null) {
      String bytes = file.get("base64").asText();
      parts.add(new FilePart(new FileWithBytes(file.get("mediaType").asText(), file.get("name").asText(), bytes)));
    }
    var builder =
        new Message.Builder().messageId(UUID.randomUUID().toString()).role(Message.Role.USER).parts(parts);
    if (given.has("taskId")) builder.taskId(given.get("taskId").asText());
    return builder.build();
  }

  static Map<String, Object> view(Task task) {
    StringBuilder text = new StringBuilder();
    List<Object> files = new ArrayList<>();
    List<Artifact> artifacts = task.getArtifacts() == null ? List.of() : task.getArtifacts();
    for (Artifact artifact : artifacts) {
      for (Part<?> part : artifact.parts()) {
        if (part instanceof TextPart one) text.append(one.getText());
        if (part instanceof FilePart one && one.getFile() instanceof FileWithBytes file) {
          String name = file.name() == null ? "" : file.name();
          files.add(Map.of("name", name, "mediaType", file.mimeType(), "base64", file.bytes()));
        }
      }
    }
    Message said = task.getStatus().message();
    if (text.isEmpty() && said != null) {
      for (Part<?> part : said.getParts()) if (part instanceof TextPart one) text.append(one.getText());
    }
    String state = task.getStatus().state().asString();
    Map<String, Object> shown = new HashMap<>();
    shown.putAll(Map.of("taskId", task.getId(), "state", state, "text", text.toString(), "files", files));
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
      if (event instanceof TaskEvent one) {
        first.complete(one.getTask().getId());
        if (isLast(one.getTask().getStatus().state())) end.complete(one.getTask());
      }
      if (event instanceof TaskUpdateEvent one) {
        first.complete(one.getTask().getId());
        if (one.getUpdateEvent() instanceof TaskStatusUpdateEvent update && update.isFinal()) end.complete(one.getTask());
      }
    }

    static boolean isLast(TaskState state) {
      return state.isFinal() || state == TaskState.INPUT_REQUIRED;
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

  static Map<String, Object> send(JsonNode given) throws Exception {
    boolean isImmediate = given.has("wait") && !given.get("wait").asBoolean();
    CompletableFuture<Task> sent = new CompletableFuture<>();
    BiConsumer<ClientEvent, AgentCard> take = (event, card) -> sent.complete(((TaskEvent) event).getTask());
    (isImmediate ? immediate : blocking).sendMessage(message(given), List.of(take), sent::completeExceptionally, null);
    return view(sent.get(20, TimeUnit.SECONDS));
  }

  static Map<String, Object> run(String op, JsonNode given) throws Exception {
    String id = given.has("taskId") ? given.get("taskId").asText() : null;
    switch (op) {
      case "about":
        String path = Client.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        return Map.of("version", path.replaceAll(".*a2a-java-sdk-client-(.*)\\.jar", "$1"));
      case "serve":
        return serve(given);
      case "seen":
        return Map.of("seen", List.copyOf(seen));
      case "read":
        return Map.of("text", new String(Base64.getDecoder().decode(files.get(files.size() - 1)), UTF_8));
      case "connect":
        return connect(given);
      case "extended":
        return Map.of("name", blocking.getAgentCard(null).name());
      case "send":
        return send(given);
      case "stream": {
        Events events = new Events();
        streaming.sendMessage(message(given), List.of(events), events::fail, null);
        return events.shown();
      }
      case "follow": {
        Events events = new Events();
        streaming.resubscribe(new TaskIdParams(id), List.of(events), events::fail, null);
        CompletableFuture.anyOf(events.first, events.end).get(20, TimeUnit.SECONDS);
        streaming.cancelTask(new TaskIdParams(id), null);
        return events.shown();
      }
      case "get":
        return view(blocking.getTask(new TaskQueryParams(id), null));
      case "cancel":
        return view(blocking.cancelTask(new TaskIdParams(id), null));
      case "push": {
        var config = new PushNotificationConfig(given.get("url").asText(), given.get("token").asText(), null, "hook");
        blocking.setTaskPushNotificationConfiguration(new TaskPushNotificationConfig(id, config), null);
        var read =
            blocking.getTaskPushNotificationConfiguration(
                new GetTaskPushNotificationConfigParams(id, "hook"), null);
        return Map.of("url", read.pushNotificationConfig().url());
      }
      default:
        throw new IllegalArgumentException(op);
    }
  }

  static final List<String> seen = Collections.synchronizedList(new ArrayList<>());
  static final List<String> files = Collections.synchronizedList(new ArrayList<>());

  /** Starts server/Server.java as a process, which ends with this one, and keeps what it tells. */
  static Map<String, Object> serve(JsonNode given) throws Exception {
    List<String> command = new ArrayList<>(List.of("java", "-Dpeer.transport=" + given.get("transport").asText()));
    if (given.has("token")) command.add("-Dpeer.token=" + given.get("token").asText());
    command.addAll(List.of("-jar", "server/target/quarkus-app/quarkus-run.jar"));
    Process server = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    BufferedReader lines = server.inputReader();
    String url = JSON.readTree(lines.readLine()).get("url").asText();
    Thread reader = new Thread(() -> lines.lines().forEach(Peer::keep));
    reader.setDaemon(true);
    reader.start();
    return Map.of("url", url);
  }

  static void keep(String line) {
    try {
      JsonNode told = JSON.readTree(line);
      if (told.has("seen")) seen.add(told.get("seen").asText());
      if (told.has("file")) files.add(told.get("file").asText());
    } catch (Exception error) {
      throw new IllegalStateException(line, error);
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
      JsonNode given = JSON.readTree(line);
      Map<String, Object> answer;
      try {
        answer = run(given.get("op").asText(), given);
      } catch (Throwable error) {
        answer = told(error);
      }
      System.out.println(JSON.writeValueAsString(answer));
    }
    System.exit(0);
  }
}
