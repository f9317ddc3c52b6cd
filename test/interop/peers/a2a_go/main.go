// The official a2a-go as a client and as a server: one JSON request a line on stdin, one JSON answer a line on stdout.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	grpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	grpcv1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

type file struct {
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Base64    string `json:"base64"`
}

type request struct {
	Op, URL, Transport, Version, Token, Text, TaskID string
	Wait                                             *bool
	File                                             *file
}

type answer = map[string]any

// The agent

var (
	lock  sync.Mutex
	seen  []string
	files []string
)

func saw(order string) {
	lock.Lock()
	defer lock.Unlock()
	seen = append(seen, order)
}

// orders does what the first word of a message says.
type orders struct{}

func (orders) Execute(ctx context.Context, run *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text := ""
		for _, part := range run.Message.Parts {
			text += part.Text()
		}
		saw(text)
		say := func(state a2a.TaskState, said ...string) {
			var message *a2a.Message
			if len(said) > 0 {
				message = a2a.NewMessageForTask(a2a.MessageRoleAgent, run, a2a.NewTextPart(said[0]))
			}
			yield(a2a.NewStatusUpdateEvent(run, state, message), nil)
		}
		if run.StoredTask == nil {
			yield(a2a.NewSubmittedTask(run, run.Message), nil)
		}
		say(a2a.TaskStateWorking)
		order, rest, _ := strings.Cut(text, " ")
		switch order {
		case "ask":
			say(a2a.TaskStateInputRequired, "what shall I say?")
			return
		case "wait":
			<-ctx.Done()
			return
		case "fail":
			say(a2a.TaskStateFailed, "the disk is full")
			return
		case "refuse":
			say(a2a.TaskStateRejected, "not my work")
			return
		case "chunks":
			count, _ := strconv.Atoi(rest)
			event := a2a.NewArtifactEvent(run, a2a.NewTextPart("<0>"))
			yield(event, nil)
			for at := 1; at < count; at++ {
				yield(a2a.NewArtifactUpdateEvent(run, event.Artifact.ID, a2a.NewTextPart(fmt.Sprintf("<%d>", at))), nil)
			}
		case "echo":
			for _, part := range run.Message.Parts {
				if part.Raw() != nil {
					files = append(files, string(part.Raw()))
					yield(a2a.NewArtifactEvent(run, part), nil)
				}
			}
		default:
			yield(a2a.NewArtifactEvent(run, a2a.NewTextPart(rest)), nil)
		}
		say(a2a.TaskStateCompleted)
	}
}

func (orders) Cancel(ctx context.Context, run *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		saw("canceled")
		yield(a2a.NewStatusUpdateEvent(run, a2a.TaskStateCanceled, nil), nil)
	}
}

// onlyWith answers 401 to all but the card without the token.
func onlyWith(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isCard := strings.Contains(r.URL.Path, "/.well-known/")
		if token != "" && !isCard && r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "unknown caller", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// known is the same over gRPC.
func known(ctx context.Context, token string) error {
	sent := metadata.ValueFromIncomingContext(ctx, "authorization")
	if token == "" || len(sent) == 1 && sent[0] == "Bearer "+token {
		return nil
	}
	return status.Error(codes.Unauthenticated, "unknown caller")
}

func serve(given request) (answer, error) {
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	origin := "http://" + web.Addr().String()
	address, isOld := origin, given.Version == "0.3"
	handler := a2asrv.NewHandler(orders{})
	mux := http.NewServeMux()
	switch given.Transport {
	case "JSONRPC":
		address = origin + "/rpc"
		mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
		if isOld {
			mux = http.NewServeMux()
			mux.Handle("/rpc", a2av0.NewJSONRPCHandler(handler))
		}
	case "HTTP+JSON":
		if isOld {
			mux.Handle("/", a2av0.NewRESTHandler(handler))
		} else {
			mux.Handle("/", a2asrv.NewRESTHandler(handler))
		}
	case "GRPC":
		rpc, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		address = rpc.Addr().String()
		server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := known(ctx, given.Token); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}), grpc.StreamInterceptor(func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := known(stream.Context(), given.Token); err != nil {
				return err
			}
			return next(service, stream)
		}))
		if isOld {
			grpcv0.NewHandler(handler).RegisterWith(server)
		} else {
			grpcv1.NewHandler(handler).RegisterWith(server)
		}
		go server.Serve(rpc)
	}
	modes := []string{"text/plain"}
	card := &a2a.AgentCard{
		Name:               "Orders",
		Description:        "Follows orders.",
		Version:            "1",
		DefaultInputModes:  modes,
		DefaultOutputModes: modes,
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		Skills:             []a2a.AgentSkill{{ID: "orders", Name: "Orders", Description: "Follows orders.", Tags: []string{"test"}}},
		SupportedInterfaces: []*a2a.AgentInterface{{
			URL: address, ProtocolBinding: a2a.TransportProtocol(given.Transport), ProtocolVersion: a2a.ProtocolVersion(given.Version),
		}},
	}
	if given.Token != "" {
		card.SecuritySchemes = a2a.NamedSecuritySchemes{"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "bearer"}}
		card.SecurityRequirements = a2a.SecurityRequirementsOptions{{"bearer": {}}}
	}
	cards := a2asrv.NewStaticAgentCardHandler(card)
	if isOld {
		cards = a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card))
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, cards)
	go http.Serve(web, onlyWith(given.Token, mux))
	return answer{"url": origin}, nil
}

// The client

var (
	client *a2aclient.Client
	ctx    = a2aclient.AttachSessionID(context.Background(), "test")
)

// connect takes the one interface of the card that the test is about.
func connect(given request) (answer, error) {
	// The other parser, the default, does not see which token the card asks for.
	resolver := &agentcard.Resolver{Client: &http.Client{Timeout: 20 * time.Second}, CardParser: a2av0.NewAgentCardParser()}
	card, err := resolver.Resolve(ctx, given.URL)
	if err != nil {
		return nil, err
	}
	var wanted []*a2a.AgentInterface
	for _, one := range card.SupportedInterfaces {
		if string(one.ProtocolBinding) == given.Transport && strings.HasPrefix(string(one.ProtocolVersion), given.Version) {
			wanted = append(wanted, one)
		}
	}
	card.SupportedInterfaces = wanted
	credentials := a2aclient.NewInMemoryCredentialsStore()
	for name := range card.SecuritySchemes {
		credentials.Set("test", name, a2aclient.AuthCredential(given.Token))
	}
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	client, err = a2aclient.NewFromCard(ctx, card,
		a2aclient.WithCallInterceptors(&a2aclient.AuthInterceptor{Service: credentials}),
		grpcv1.WithGRPCTransport(plain),
		grpcv0.WithGRPCTransport(plain),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{}),
		a2av0.WithRESTTransport(a2av0.RESTTransportConfig{}),
	)
	if err != nil {
		return nil, err
	}
	skills := []string{}
	for _, skill := range card.Skills {
		skills = append(skills, skill.ID)
	}
	return answer{"name": card.Name, "skills": skills}, nil
}

func newRequest(given request) *a2a.SendMessageRequest {
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(given.Text))
	message.TaskID = a2a.TaskID(given.TaskID)
	if given.File != nil {
		raw, _ := base64.StdEncoding.DecodeString(given.File.Base64)
		part := a2a.NewRawPart(raw)
		part.Filename, part.MediaType = given.File.Name, given.File.MediaType
		message.Parts = append(message.Parts, part)
	}
	isImmediate := given.Wait != nil && !*given.Wait
	return &a2a.SendMessageRequest{Message: message, Config: &a2a.SendMessageConfig{ReturnImmediately: isImmediate}}
}

func view(task *a2a.Task) answer {
	text, sent := "", []file{}
	for _, artifact := range task.Artifacts {
		for _, part := range artifact.Parts {
			text += part.Text()
			if raw := part.Raw(); raw != nil {
				sent = append(sent, file{part.Filename, part.MediaType, base64.StdEncoding.EncodeToString(raw)})
			}
		}
	}
	if text == "" && task.Status.Message != nil {
		for _, part := range task.Status.Message.Parts {
			text += part.Text()
		}
	}
	state := strings.ToLower(strings.TrimPrefix(string(task.Status.State), "TASK_STATE_"))
	return answer{"taskId": task.ID, "state": strings.ReplaceAll(state, "_", "-"), "text": text, "files": sent}
}

func send(given request) (answer, error) {
	result, err := client.SendMessage(ctx, newRequest(given))
	if err != nil {
		return nil, err
	}
	task, isTask := result.(*a2a.Task)
	if !isTask {
		return nil, fmt.Errorf("a %T came", result)
	}
	return view(task), nil
}

// gather reads a stream to its end, into a task.
func gather(stream iter.Seq2[a2a.Event, error], cancelFirst bool) (answer, error) {
	task, events := &a2a.Task{}, 0
	for event, err := range stream {
		if err != nil {
			return nil, err
		}
		events++
		switch one := event.(type) {
		case *a2a.Task:
			task = one
		case *a2a.TaskStatusUpdateEvent:
			task.ID, task.Status = one.TaskID, one.Status
		case *a2a.TaskArtifactUpdateEvent:
			if !one.Append {
				task.Artifacts = nil
			}
			task.Artifacts = append(task.Artifacts, one.Artifact)
		}
		if cancelFirst && events == 1 {
			if _, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
				return nil, err
			}
		}
	}
	shown := view(task)
	shown["events"] = events
	return shown, nil
}

func task(got *a2a.Task, err error) (answer, error) {
	if err != nil {
		return nil, err
	}
	return view(got), nil
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == "github.com/a2aproject/a2a-go/v2" {
			return strings.TrimPrefix(dependency.Version, "v")
		}
	}
	return "unknown"
}

func do(given request) (answer, error) {
	id := a2a.TaskID(given.TaskID)
	switch given.Op {
	case "about":
		return answer{"version": version()}, nil
	case "serve":
		return serve(given)
	case "seen":
		lock.Lock()
		defer lock.Unlock()
		return answer{"seen": append([]string{}, seen...)}, nil
	case "read":
		return answer{"text": files[len(files)-1]}, nil
	case "connect":
		return connect(given)
	case "extended":
		card, err := client.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
		if err != nil {
			return nil, err
		}
		return answer{"name": card.Name}, nil
	case "send":
		return send(given)
	case "stream":
		return gather(client.SendStreamingMessage(ctx, newRequest(given)), false)
	case "follow":
		return gather(client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}), true)
	case "get":
		return task(client.GetTask(ctx, &a2a.GetTaskRequest{ID: id}))
	case "cancel":
		return task(client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id}))
	case "list":
		found, err := client.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: 50})
		if err != nil {
			return nil, err
		}
		ids := []string{}
		for _, one := range found.Tasks {
			ids = append(ids, string(one.ID))
		}
		return answer{"ids": ids}, nil
	case "push":
		made, err := client.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: id, ID: "hook", URL: given.URL, Token: given.Token})
		if err != nil {
			return nil, err
		}
		read, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: id, ID: made.ID})
		if err != nil {
			return nil, err
		}
		return answer{"url": read.URL}, nil
	case "pushes":
		configs, err := client.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: id})
		if err != nil {
			return nil, err
		}
		ids := []string{}
		for _, config := range configs {
			ids = append(ids, config.ID)
		}
		return answer{"ids": ids}, nil
	case "unpush":
		return answer{}, client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: id, ID: "hook"})
	}
	return nil, fmt.Errorf("no operation %q", given.Op)
}

// nameOf names the error of A2A that an error is.
func nameOf(err error) string {
	for name, known := range map[string]error{
		"TaskNotFound":      a2a.ErrTaskNotFound,
		"TaskNotCancelable": a2a.ErrTaskNotCancelable,
		"Unauthenticated":   a2a.ErrUnauthenticated,
	} {
		if errors.Is(err, known) {
			return name
		}
	}
	return "Error"
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var given request
		json.Unmarshal(lines.Bytes(), &given)
		got, err := do(given)
		if err != nil {
			got = answer{"error": nameOf(err), "message": err.Error()}
		}
		json.NewEncoder(os.Stdout).Encode(got)
	}
}
